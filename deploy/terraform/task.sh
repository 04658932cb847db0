#!/usr/bin/env bash
# Runs one of the environment's tasks to its end and shows what it says:
#
#	deploy/terraform/task.sh NAME [COMMAND…]
#
# NAME is schema, qualify, or bootstrap- and a database's name; without a command it
# does what it is for. The exit code is the task's; 125 says that it didn't run. It
# takes terraform (initialized for the environment), the AWS command line and jq.
set -euo pipefail
cd "$(dirname "$0")"

fail() { echo "task: $*" >&2; exit 125; }

(($# > 0)) || fail "usage: task.sh NAME [COMMAND…]"
name=$1
shift
roll=$(terraform output -json roll)
task=$(jq -ce --arg name "$name" '.tasks[$name]' <<<"$roll") || fail "no task $name: there are $(jq -r '.tasks | keys | join(", ")' <<<"$roll")"
region=$(jq -r .region <<<"$roll")
container=$(jq -r .container <<<"$task")

ecs() { aws --region "$region" ecs "$@" --cluster "$(jq -r .cluster <<<"$roll")"; }

network=$(jq -c '{awsvpcConfiguration: {subnets, securityGroups: [.security_group], assignPublicIp: "DISABLED"}}' <<<"$roll")
overrides='{}'
(($# == 0)) || overrides=$(jq -cn --arg name "$container" '{containerOverrides: [{name: $name, command: $ARGS.positional}]}' --args "$@")

arn=$(ecs run-task --task-definition "$(jq -r .definition <<<"$task")" --launch-type FARGATE --started-by task.sh \
	--network-configuration "$network" --overrides "$overrides" --query 'tasks[0].taskArn' --output text)
[[ $arn == arn:* ]] || fail "ECS starts no task of $name"
ecs wait tasks-stopped --tasks "$arn" || fail "$arn hasn't ended after ten minutes: it goes on"
aws --region "$region" logs get-log-events --log-group-name "$(jq -r .log <<<"$task")" \
	--log-stream-name "task/$container/${arn##*/}" --start-from-head --query 'events[].[message]' --output text || true
code=$(ecs describe-tasks --tasks "$arn" --query 'tasks[0].containers[0].exitCode' --output text)
[[ $code =~ ^[0-9]+$ ]] || fail "$arn didn't start: aws ecs describe-tasks tells its stopped reason"
exit "$code"
