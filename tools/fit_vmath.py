"""The polynomials of src/math/simd.h and src/diffusion/truncnorm.c: least squares at Chebyshev nodes.

Run with numpy and scipy; prints the coefficients, lowest power first, and the largest absolute error of each.
"""
import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.special import ndtri


def fit(function, low, high, degree, nodes=4000):
    t = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    middle, half = (low + high) / 2, (high - low) / 2
    x = middle + half * t
    in_t = chebyshev.cheb2poly(chebyshev.chebfit(t, function(x), degree))
    power, result = np.ones(1), np.zeros(1)
    for c in in_t:
        result = polynomial.polyadd(result, c * power)
        power = polynomial.polymul(power, [-middle / half, 1 / half])
    return result, np.abs(polynomial.polyval(x, result) - function(x)).max()


def ratio(numerator, limit):
    """numerator(x)/x with its limit at 0, as a function of v = x^2."""
    def of_square(v):
        x = np.sqrt(np.maximum(v, 1e-14))
        return np.where(v < 1e-12, limit, numerator(x) / x)
    return of_square


def beyond_linear(function, constant, second, third):
    """(function(x) - constant - x) / x^2 with its limit at 0."""
    def of(x):
        safe = np.where(np.abs(x) < 1e-4, 1, x)
        return np.where(np.abs(x) < 1e-4, second + third * x, (function(x) - constant - x) / safe**2)
    return of


FITS = [
    ("exp: 1 + x + x^2 p(x)", beyond_linear(np.exp, 1, 1 / 2, 1 / 6), -0.35, 0.35, 4),
    ("log(1+x): x + x^2 p(x)", beyond_linear(np.log1p, 0, -1 / 2, 1 / 3), np.sqrt(0.5) - 1, np.sqrt(2) - 1, 8),
    ("sin 2 pi u: u p(u^2)", ratio(lambda u: np.sin(2 * np.pi * u), 2 * np.pi), 0, 1 / 64, 4),
    ("cos 2 pi u: p(u^2)", lambda v: np.cos(2 * np.pi * np.sqrt(v)), 0, 1 / 64, 4),
    ("tanh: x p(x^2)", ratio(np.tanh, 1.0), 0, 0.36, 5),
    ("normal inverse, q = p - 1/2: q p(q^2)", ratio(lambda q: ndtri(0.5 + q), np.sqrt(2 * np.pi)), 0, 0.425**2, 12),
    ("normal inverse, tail in t = sqrt(-2 log p)", lambda t: ndtri(np.exp(-t * t / 2)), 2.2755, 4.2, 9),
    ("normal inverse, far tail", lambda t: ndtri(np.exp(-t * t / 2)), 4.2, 8.6, 7),
]

if __name__ == "__main__":
    np.set_printoptions(precision=12)
    for name, function, low, high, degree in FITS:
        coefficients, error = fit(function, low, high, degree)
        print(f"{name}  on [{low:.4g}, {high:.4g}]  error {error:.1e}\n  {coefficients}")
