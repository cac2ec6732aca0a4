# Completion of dqs for bash: source this file, or put it into a bash-completion folder under the name "dqs".
# Tasks, algorithms and option keys are asked of the program itself, so they are never out of date.

_dqs_first_words() { "$1" "$2" 2>/dev/null | awk -v skip="${3:-0}" 'NR > skip { print $1 }'; }

_dqs_keys() { "$1" options 2>/dev/null | awk '/^  / { print $1 "=" }'; }

_dqs() {
    local program=$1 word=$2 before=$3 verb=${COMP_WORDS[1]} flags words=
    local verbs="train resume eval plot render envs algos options bench help version"
    case $verb in
        train) flags="--env --algo --preset --steps --seed --threads --out --config --init-from --kernels --set --json --quiet" ;;
        resume) flags="--steps --threads --json --quiet" ;;
        eval) flags="--episodes --mode --seed --json" ;;
        plot) flags="--out --json" ;;
        render) flags="--episodes --seconds --format --out --size --fps --camera --seed --random --json" ;;
        options) flags="--env --preset --json --markdown" ;;
        envs | algos) flags="--json" ;;
    esac
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$word")
        return
    fi
    case $before in
        --out | --init-from) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
        --config) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
        --algo) words=$(_dqs_first_words "$program" algos) ;;
        --env) words=$(_dqs_first_words "$program" envs 1) ;;
        --preset) words="default paper authors quick" ;;
        --mode) words="evaluate explore exact" ;;
        --format) words="mp4 gif png mp4,gif mp4,png mp4,gif,png" ;;
        --set) compopt -o nospace 2>/dev/null; words=$(_dqs_keys "$program") ;;
        --steps | --seed | --threads | --episodes | --kernels | --seconds | --size | --fps | --camera) return ;;
        *)
            if [[ $word == -* ]]; then
                words="$flags --help"
            else
                case $verb in
                    train) words=$(_dqs_first_words "$program" envs 1) ;;
                    render)
                        if [[ " ${COMP_WORDS[*]} " == *" --random "* ]]; then
                            words=$(_dqs_first_words "$program" envs 1)
                        else
                            mapfile -t COMPREPLY < <(compgen -d -- "$word") && return
                        fi
                        ;;
                    options) words=$(_dqs_first_words "$program" algos) ;;
                    help) words=$verbs ;;
                    resume | eval | plot) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
                esac
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _dqs dqs
