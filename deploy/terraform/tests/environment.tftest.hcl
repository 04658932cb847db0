# The whole of an environment: run with -var-file=environments/….tfvars, each in turn.

mock_provider "aws" {
  source = "./tests/mocks"
}

mock_provider "aws" {
  alias  = "bodies"
  source = "./tests/mocks"
}

variables {
  build               = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  reviewed_build      = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  bodies_admin_key_id = "none"
  bodies_admin_secret = "none"
}

run "is_made_from_its_variables" {
  command = plan

  assert {
    condition     = !strcontains(file("environments/${var.environment}.tfvars"), "reviewed_build")
    error_message = "What was reviewed stands in a file: nobody has to say it any more."
  }

  assert {
    condition = length(distinct([
      for f in fileset("environments", "*.tfvars") :
      join(" ", sort(flatten(regexall("(?m)^([a-z_]+) +=", file("environments/${f}")))))
    ])) == 1 && fileset("environments", "*.tfvars") == setunion(["staging.tfvars", "production.tfvars"], ["${var.environment}.tfvars"])
    error_message = "The environments don't set the same variables: one of them rests on a default, and so on more than its variables."
  }

  assert {
    condition     = var.environment != "production" || (var.multi_az && var.zones == 3 && var.backup_days >= 30 && var.api.least >= 2 && var.worker.least >= 2 && var.alarm_topic_arn != "")
    error_message = "Production has no standby, tells nobody, or rests on a single task."
  }
}

run "refuses_a_tag" {
  command = plan
  variables {
    build          = "latest"
    reviewed_build = "latest"
  }
  expect_failures = [var.build]
}

run "refuses_a_repository_with_a_tag" {
  command = plan
  variables {
    image = "example.com/holdfast:latest"
  }
  expect_failures = [var.image]
}

run "refuses_a_number_that_lives_nowhere_or_twice" {
  command = plan
  variables {
    databases = {
      control = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500 }
      main    = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500, numbers = "0-31" }
      data1   = { instance_class = "db.m7g.large", storage_gb = 50, max_storage_gb = 500, numbers = "31-62" }
    }
  }
  expect_failures = [var.databases]
}

run "refuses_bodies_in_clear" {
  command = plan
  variables {
    bodies_endpoint = "http://bodies.example.com"
  }
  expect_failures = [var.bodies_endpoint]
}
