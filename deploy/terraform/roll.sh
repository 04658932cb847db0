#!/usr/bin/env bash
# Rolls the build that the last apply registered, which must be the one that is named:
#
#	deploy/terraform/roll.sh sha256:…
#
# In this order, and no further than the first step that fails: is the build below the
# rollback floor; the schema; the workers; the API. An older build is rolled the same
# way, and refused by the first step once something has raised the floor. It takes
# terraform (initialized for the environment), the AWS command line and jq.
set -euo pipefail
cd "$(dirname "$0")"

fail() { echo "roll: $*" >&2; exit 1; }

(($# == 1)) || fail "usage: roll.sh sha256:…"
roll=$(terraform output -json roll)
of() { jq -er ".$1" <<<"$roll"; }
image=$(of image)
[[ ${image#*@} == "$1" ]] || fail "the last apply registered ${image#*@}, not $1: apply with build=$1 first"

ecs() { aws --region "$(of region)" ecs "$@" --cluster "$(of cluster)"; }

# service NAME puts the service on the build and waits until only that runs.
service() {
	local state
	ecs update-service --service "$1" --task-definition "$(of "services.$1")" --query service.serviceName --output text
	ecs wait services-stable --services "$1" || fail "$1 doesn't come up: what ran before goes on; look at the service's events"
	state=$(ecs describe-services --services "$1" --query 'services[0].deployments[?status==`PRIMARY`]|[0].[taskDefinition,rolloutState]' --output json)
	jq -e --arg task "$(of "services.$1")" '.[0] == $task and .[1] == "COMPLETED"' <<<"$state" >/dev/null || fail "$1 isn't on the build: $state"
}

echo "roll: $image"
echo "roll: the rollback floor"
./task.sh schema /usr/local/bin/holdfast schema floor || fail "the build must not run on these databases"
echo "roll: the schema"
./task.sh schema /usr/local/bin/holdfast schema up || fail "the schema is not up to date: repeat this when the reason is gone; what runs goes on"
echo "roll: the workers"
service worker
echo "roll: the API"
service api
echo "roll: done. holdfast deployments shows what is alive."
