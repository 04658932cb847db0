#!/usr/bin/env bash
# Tests the order of roll.sh, and where it stops, with an AWS command line that only
# writes down what it is asked for.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What each would answer. $work/floor and $work/schema are exit codes of the tasks;
# $work/broken names a service that doesn't come up.
cat >"$work/terraform" <<'SH'
#!/usr/bin/env bash
cat <<'JSON'
{"region": "eu-central-1", "image": "holdfast@sha256:aa", "cluster": "c", "subnets": ["s1", "s2"], "security_group": "g",
 "tasks": {"schema": {"definition": "task/schema:7", "container": "schema", "log": "/holdfast/schema"}},
 "services": {"worker": "task/worker:7", "api": "task/api:7"}}
JSON
SH
cat >"$work/aws" <<'SH'
#!/usr/bin/env bash
work=$(dirname "$0")
case "$*" in
*"ecs run-task"*)
	[[ $* == *"--task-definition task/schema:7"*'"assignPublicIp":"DISABLED"'* ]] || exit 1
	[[ $* == *'"schema","floor"'* ]] && step=floor || step=schema
	echo "run $step" >>"$work/did"
	echo "arn:aws:ecs:eu-central-1:1:task/c/$step" ;;
*"ecs wait tasks-stopped"*) ;;
*"logs get-log-events"*) echo said ;;
*"ecs describe-tasks"*) [[ $* == *task/c/floor* ]] && cat "$work/floor" || cat "$work/schema" ;;
*"ecs update-service"*)
	[[ $* == *"--service worker --task-definition task/worker:7"* ]] && service=worker || service=api
	echo "update $service" >>"$work/did" ;;
*"ecs wait services-stable"*) [[ $* != *"--services $(cat "$work/broken")"* ]] ;;
*"ecs describe-services"*)
	[[ $* == *"--services worker"* ]] && service=worker || service=api
	echo "[\"task/$service:7\", \"COMPLETED\"]" ;;
*) echo "not known: $*" >&2; exit 1 ;;
esac
SH
chmod +x "$work/terraform" "$work/aws"

# expect CODE DONE FLOOR SCHEMA BROKEN [BUILD] rolls, and compares what was done.
expect() {
	local code=0 said
	: >"$work/did"
	echo "$3" >"$work/floor"
	echo "$4" >"$work/schema"
	echo "$5" >"$work/broken"
	said=$(PATH="$work:$PATH" ./roll.sh "${6-sha256:aa}" 2>&1) || code=$?
	if [[ $code != "$1" || $(paste -sd, "$work/did") != "$2" ]]; then
		echo "roll_test: exit code $code after $(paste -sd, "$work/did"); want $1 after $2:" >&2
		echo "$said" >&2
		exit 1
	fi
}

expect 0 "run floor,run schema,update worker,update api" 0 0 none
expect 1 "run floor" 3 0 none                                    # below the floor
expect 1 "run floor" None 0 none                                 # a task that never started
expect 1 "run floor,run schema" 0 1 none                         # a schema that can't be made
expect 1 "run floor,run schema,update worker" 0 0 worker         # workers that don't come up
expect 1 "run floor,run schema,update worker,update api" 0 0 api # nor the API
expect 1 "" 0 0 none sha256:bb                                   # another build than was applied
