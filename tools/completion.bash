# Completion of dqs for bash: source this file, or put it into a bash-completion folder under the name "dqs".
# Tasks, algorithms and option keys are asked of the program itself, so they are never out of date.

_dqs_first_words() { "$1" "$2" 2>/dev/null | awk -v skip="${3:-0}" 'NR > skip { print $1 }'; }

_dqs_keys() { "$1" options 2>/dev/null | awk '/^  / { print $1 "=" }'; }

_dqs() {
    local program=$1 word=$2 before=$3 verb=${COMP_WORDS[1]} flags words=
    local verbs="train resume sweep ablate eval export plot report reproduce render envs algos options bench help version"
    case $verb in
        train) flags="--env --algo --preset --steps --seed --threads --out --config --init-from --kernels --set --json --quiet" ;;
        sweep) flags="--jobs --seeds --steps --set --out --retries --lease --status --dry-run --slurm --tasks --cpus --partition --time --notice --sbatch --worker --json --quiet" ;;
        ablate) flags="--algo --preset --seeds --steps --set --measure --out --jobs --retries --json --quiet" ;;
        resume) flags="--steps --threads --json --quiet" ;;
        eval) flags="--episodes --mode --seed --steps-budget --set --json" ;;
        export) flags="--format --out --name --steps --weights --mode --set --keep --json" ;;
        plot) flags="--out --together --tasks --algos --seeds --band --x --smooth --json" ;;
        report) flags="--at --out --format --against --bootstrap --json" ;;
        reproduce) flags="--seeds --steps --preset --tasks --algos --full --set --out --from --jobs --retries --dry-run --yes --json --quiet" ;;
        render) flags="--episodes --seconds --format --out --size --fps --camera --seed --random --json" ;;
        options) flags="--algo --env --preset --json --markdown" ;;
        envs | algos) flags="--json" ;;
    esac
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$word")
        return
    fi
    case $before in
        --out | --init-from | --from | --keep) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
        --config) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
        --band) words="minmax ci none" ;;
        --x) words="steps hours" ;;
        --algos) words=$(_dqs_first_words "$program" algos) ;;
        --tasks) words=$(_dqs_first_words "$program" envs 1) ;;
        --algo) words=$(_dqs_first_words "$program" algos) ;;
        --env) words=$(_dqs_first_words "$program" envs 1) ;;
        --preset) words="default paper authors wide quick official sb3 cleanrl" ;;
        --mode) words="evaluate explore exact" ;;
        --against) words="paper $(_dqs_first_words "$program" algos)" ;;
        --format)
            words="mp4 gif png mp4,gif mp4,png mp4,gif,png"
            [[ $verb == report ]] && words="md latex csv html"
            [[ $verb == export ]] && words="c onnx"
            ;;
        --weights) words="fp32 fp16" ;;
        --set) compopt -o nospace 2>/dev/null; words=$(_dqs_keys "$program") ;;
        --steps | --seed | --threads | --episodes | --kernels | --seconds | --size | --fps | --camera | --seeds | --smooth | --at | --bootstrap | --name) return ;;
        *)
            if [[ $word == -* ]]; then
                words="$flags --help"
            else
                case $verb in
                    sweep) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
                    ablate)
                        if ((COMP_CWORD == 2)); then
                            words=$(_dqs_first_words "$program" envs 1)
                        else
                            compopt -o nospace 2>/dev/null
                            words=$(_dqs_keys "$program")
                        fi
                        ;;
                    train) words=$(_dqs_first_words "$program" envs 1) ;;
                    render)
                        if [[ " ${COMP_WORDS[*]} " == *" --random "* ]]; then
                            words=$(_dqs_first_words "$program" envs 1)
                        else
                            mapfile -t COMPREPLY < <(compgen -d -- "$word") && return
                        fi
                        ;;
                    options) words=$(_dqs_first_words "$program" algos) ;;
                    reproduce) words="table1 table2 fig-gmm fig-dmc fig-maze all" ;;
                    help) words=$verbs ;;
                    resume | eval | export | plot | report) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
                esac
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _dqs dqs
