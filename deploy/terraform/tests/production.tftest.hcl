# The gate before production: run with -var-file=environments/production.tfvars.

mock_provider "aws" {
  source = "./tests/mocks"
}

mock_provider "aws" {
  alias  = "bodies"
  source = "./tests/mocks"
}

variables {
  environment         = "production"
  build               = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  bodies_admin_key_id = "none"
  bodies_admin_secret = "none"
}

run "refuses_a_build_that_nobody_reviewed" {
  command         = plan
  expect_failures = [var.reviewed_build]
}

run "refuses_a_build_other_than_the_reviewed_one" {
  command = plan
  variables {
    reviewed_build = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
  expect_failures = [var.reviewed_build]
}
