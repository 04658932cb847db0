# The versions are exact, so that a plan means the same on every machine. There is no
# lock file beside them: it would list checksums of one registry's archives for one
# set of platforms, and providers may as well come from a mirror (check.sh).
terraform {
  required_version = ">= 1.11, < 2.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }

  # Where the state is kept is said at init, an environment each:
  # terraform init -backend-config=environments/staging.backend
  backend "s3" {}
}
