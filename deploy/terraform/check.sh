#!/usr/bin/env bash
# Checks what is here, as "make terraform": format, validity, the tests with mocked
# providers, each environment's variables, and a bucket that is really made, in the S3
# server that HOLDFAST_BODIES_ENDPOINT and AWS_… name. Nothing is asked of a cloud.
set -euo pipefail
cd "$(dirname "$0")"

fail() { echo "make terraform: $*" >&2; exit 1; }

command -v terraform >/dev/null || fail "terraform is missing: install version 1.11 or later, by your package manager or from developer.hashicorp.com/terraform/install"
[[ -n ${HOLDFAST_BODIES_ENDPOINT:-} ]] || fail "HOLDFAST_BODIES_ENDPOINT is not set: run make terraform"

export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0
# A configuration that isn't there is no wish.
[[ -e ${TF_CLI_CONFIG_FILE:-} ]] || unset TF_CLI_CONFIG_FILE

# The provider comes from a mirror that the machine has: what Terraform's own
# configuration names, else HOLDFAST_TERRAFORM_PLUGINS, else a folder where mirrors are
# usually kept (HOST/hashicorp/aws/… in it); and from the registry otherwise.
provider=$(sed -n 's/^ *version = "\(.*\)"$/\1/p' versions.tf)
mirror=()
if [[ -z ${TF_CLI_CONFIG_FILE:-} ]]; then
	for folder in ${HOLDFAST_TERRAFORM_PLUGINS:+"$HOLDFAST_TERRAFORM_PLUGINS"} \
		/usr/share/terraform/plugins /usr/local/share/terraform/plugins "${HOME:-}"/.terraform.d/plugins /opt/*; do
		if compgen -G "$folder/*/hashicorp/aws/$provider" >/dev/null || compgen -G "$folder/*/hashicorp/aws/terraform-provider-aws_${provider}_*.zip" >/dev/null; then
			mirror=("-plugin-dir=$folder")
			break
		fi
	done
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# init FOLDER takes the provider anew, whatever was taken from elsewhere before.
init() {
	rm -f "$1/.terraform.lock.hcl"
	terraform -chdir="$1" init -backend=false -no-color "${mirror[@]}" >"$log" 2>&1 && return
	if grep -q 'Failed to query available provider packages\|Failed to install provider' "$log"; then
		fail "no AWS provider $provider: no folder has it (HOLDFAST_TERRAFORM_PLUGINS names one), and the registry can't be reached"
	fi
	cat "$log" >&2
	exit 1
}

echo "fmt"
terraform fmt -recursive -check -diff
echo "init ${mirror[*]}"
init .
init modules/bodies
echo "validate"
terraform validate -no-color >/dev/null

# The bucket is waited for more than worked at, so it is made beside the tests.
made=$(mktemp)
trap 'rm -f "$log" "$made"' EXIT
AWS_ENDPOINT_URL_S3=$HOLDFAST_BODIES_ENDPOINT terraform -chdir=modules/bodies test -no-color >"$made" 2>&1 &
making=$!

echo "test with the variables of production"
terraform test -no-color -var-file=environments/production.tfvars
echo "test with the variables of staging"
terraform test -no-color -var-file=environments/staging.tfvars -filter=tests/environment.tftest.hcl
echo "test of the order of a roll"
./roll_test.sh

echo "a bucket made, and taken away again"
wait "$making" || { cat "$made" >&2; exit 1; }
cat "$made"
