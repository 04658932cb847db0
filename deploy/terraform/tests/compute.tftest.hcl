# What runs, and what it may do.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  name            = "holdfast-test"
  environment     = "production"
  region          = "eu-central-1"
  image           = "example.com/holdfast@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  serve           = true
  domain          = "api.example.com"
  certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/00000000-0000-4000-8000-000000000000"

  network = {
    vpc_id                          = "vpc-1"
    api_port                        = 8080
    public_subnet_ids               = ["subnet-1", "subnet-2"]
    private_subnet_ids              = ["subnet-3", "subnet-4"]
    load_balancer_security_group_id = "sg-1"
    load_balancer_cidrs             = ["10.20.0.0/24", "10.20.1.0/24"]
    tasks_security_group_id         = "sg-2"
  }

  secrets = {
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-4000-8000-000000000000"
    arns = {
      owner_password  = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/owner-password-AbCdEf"
      api_password    = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/api-password-AbCdEf"
      worker_password = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/worker-password-AbCdEf"
      server_keys     = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/server-keys-AbCdEf"
      operator_key    = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/operator-key-AbCdEf"
      bodies          = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:holdfast-test/bodies-AbCdEf"
    }
  }

  databases        = { control = "c.example.com", data1 = "a.example.com", data2 = "b.example.com" }
  master_secrets   = { control = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:rds-c", data1 = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:rds-a", data2 = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:rds-b" }
  numbers          = { data1 = "0-31", data2 = "32-63" }
  control_database = "control"

  bodies_endpoint = "https://bodies.example.com"
  bodies_bucket   = "holdfast-test-bodies"

  api             = { cpu = 1024, memory = 2048, least = 2, most = 4, requests_per_minute = 30000 }
  worker          = { cpu = 1024, memory = 2048, least = 2, most = 3, jobs_due = 20 }
  drain_seconds   = 30
  collector_image = "amazon/aws-otel-collector:v0.43.1"
  traces_endpoint = "https://traces.example.com"

  log_groups = { for name in ["api", "worker", "schema", "qualify", "bootstrap", "metrics"] : name => "arn:aws:logs:eu-central-1:123456789012:log-group:/holdfast/test/${name}" }

  metrics_namespace = "Holdfast/test"
}

run "has_no_tasks_before_there_is_a_schema" {
  module {
    source = "./modules/compute"
  }
  command = plan
  variables {
    serve = false
  }

  assert {
    condition     = alltrue([for s in aws_ecs_service.server : s.desired_count == 0]) && alltrue([for t in aws_appautoscaling_target.server : t.max_capacity == 0])
    error_message = "Something would start and find no schema."
  }
}

run "serves" {
  module {
    source = "./modules/compute"
  }

  # --- The containers ---

  assert {
    condition = alltrue(flatten([for task in concat(values(aws_ecs_task_definition.server), values(aws_ecs_task_definition.job)) : [
      for c in jsondecode(task.container_definitions) :
      c.image == var.image && c.user == "65532:65532" && c.readonlyRootFilesystem && !c.privileged && c.linuxParameters.capabilities.drop == ["ALL"]
      if c.name != "metrics"
    ]]))
    error_message = "A container is of another image, is root, or may write."
  }

  assert {
    condition     = alltrue([for task in aws_ecs_task_definition.server : jsondecode(task.container_definitions)[0].stopTimeout > var.drain_seconds + 10])
    error_message = "A server is killed while it stops: after its drain it takes up to ten seconds."
  }

  assert {
    condition = alltrue(flatten([for task in aws_ecs_task_definition.server : [
      for c in jsondecode(task.container_definitions) : c.essential == (c.name != "metrics")
    ]]))
    error_message = "A collector that fails takes a server with it."
  }

  # The README's table is held to what the processes read by a test of theirs.
  assert {
    condition = alltrue(flatten([
      for name, as in { api = "api", worker = "worker", schema = "schema", qualify = "check" } : [
        for variable in concat(
          [for e in jsondecode(merge(aws_ecs_task_definition.server, aws_ecs_task_definition.job)[name].container_definitions)[0].environment : e.name],
          [for s in jsondecode(merge(aws_ecs_task_definition.server, aws_ecs_task_definition.job)[name].container_definitions)[0].secrets : s.name],
        ) :
        startswith(variable, "OTEL_") || contains(split(", ", try(regex("\\| `${variable}` \\| ([a-z, ]+) \\|", file("../../README.md"))[0], "")), as)
      ]
    ]))
    error_message = "A process is given a variable that it doesn't read."
  }

  assert {
    condition = alltrue(flatten([for task in concat(values(aws_ecs_task_definition.server), values(aws_ecs_task_definition.job)) : [
      for e in jsondecode(task.container_definitions)[0].environment :
      length(regexall("postgres://", e.value)) == length(regexall("postgres://[a-z.]+:5432/holdfast\\?sslmode=verify-full&sslrootcert=/etc/holdfast/trust/rds.pem", e.value))
    ]]))
    error_message = "A database is spoken to without looking who it is, or a URL names a user."
  }

  assert {
    condition     = { for e in jsondecode(aws_ecs_task_definition.server["api"].container_definitions)[0].environment : e.name => e.value }["HOLDFAST_PLACEMENT"] == "data1=0-31 data2=32-63"
    error_message = "The placement isn't that of the databases."
  }

  # --- Secrets ---

  assert {
    condition     = alltrue([for task in concat(values(aws_ecs_task_definition.server), [aws_ecs_task_definition.job["qualify"]]) : !strcontains(task.container_definitions, "owner-password") && !strcontains(task.container_definitions, "secret:rds-")])
    error_message = "Who serves, or qualifies, has the owner's or the master's password."
  }

  assert {
    condition     = contains([for s in jsondecode(aws_ecs_task_definition.job["schema"].container_definitions)[0].secrets : s.name], "HOLDFAST_OWNER_PASSWORD") && !strcontains(aws_ecs_task_definition.job["schema"].container_definitions, "secret:rds-")
    error_message = "The schema's task hasn't the owner's password, or has the master's."
  }

  assert {
    condition     = alltrue([for name, task in aws_ecs_task_definition.bootstrap : strcontains(task.container_definitions, var.master_secrets[name]) && strcontains(task.container_definitions, "owner-password")])
    error_message = "A bootstrap lacks a password that it needs."
  }

  assert {
    condition = alltrue(flatten([for task in concat(values(aws_ecs_task_definition.server), values(aws_ecs_task_definition.job), values(aws_ecs_task_definition.bootstrap)) : [
      for c in jsondecode(task.container_definitions) : [
        for e in c.environment : length(regexall("PASSWORD|SECRET|_KEYS?$|KEY_ID", e.name)) == 0
      ]
    ]]))
    error_message = "A secret is given in clear."
  }

  # --- Roles ---

  assert {
    condition = alltrue(flatten([for policy in concat(values(aws_iam_role_policy.execution), [aws_iam_role_policy.server]) : [
      for s in jsondecode(policy.policy).Statement : [for action in s.Action : !strcontains(action, "*")]
    ]]))
    error_message = "A role may do what isn't named."
  }

  assert {
    condition = alltrue(flatten([for policy in concat(values(aws_iam_role_policy.execution), [aws_iam_role_policy.server]) : [
      for s in jsondecode(policy.policy).Statement : !contains(s.Resource, "*") || s.Action == ["ecr:GetAuthorizationToken"]
    ]]))
    error_message = "A role may do something to everything."
  }

  assert {
    condition = { for name, policy in aws_iam_role_policy.execution : name => sort(flatten([for s in jsondecode(policy.policy).Statement : [for r in s.Resource : regex("secret:(?:holdfast-test/)?(.*?)(?:-AbCdEf)?$", r)[0]] if s.Action == ["secretsmanager:GetSecretValue"]])) } == {
      api       = tolist(["api-password", "bodies", "operator-key", "server-keys"])
      worker    = tolist(["bodies", "server-keys", "worker-password"])
      schema    = tolist(["api-password", "owner-password", "worker-password"])
      qualify   = tolist(["api-password", "bodies"])
      bootstrap = tolist(["owner-password", "rds-a", "rds-b", "rds-c"])
    }
    error_message = "A task can be started with secrets that aren't its own."
  }

  assert {
    condition     = alltrue([for s in jsondecode(aws_iam_role_policy.server.policy).Statement : alltrue([for a in s.Action : startswith(a, "logs:")])]) && alltrue([for task in aws_ecs_task_definition.job : task.task_role_arn == null])
    error_message = "A process has rights of its own beyond its metrics."
  }

  # --- The way in ---

  assert {
    condition     = aws_lb_listener.https.protocol == "HTTPS" && aws_lb_listener.https.ssl_policy == "ELBSecurityPolicy-TLS13-1-2-2021-06" && aws_lb_listener.https.certificate_arn == var.certificate_arn
    error_message = "The API is served in clear, or by old protocols."
  }

  assert {
    condition     = aws_lb_listener.http.default_action[0].type == "redirect" && aws_lb_listener.http.default_action[0].redirect[0].protocol == "HTTPS"
    error_message = "Something is served without https."
  }

  assert {
    condition     = aws_lb.this.enable_deletion_protection && aws_lb.this.drop_invalid_header_fields
    error_message = "The load balancer can be deleted, or passes on what isn't HTTP."
  }

  assert {
    condition     = aws_lb_target_group.api.health_check[0].path == "/readyz" && aws_lb_target_group.api.deregistration_delay == tostring(var.drain_seconds)
    error_message = "The load balancer doesn't ask for readiness, or gives requests another time than the drain."
  }

  # --- The services ---

  assert {
    condition     = alltrue([for s in aws_ecs_service.server : !s.network_configuration[0].assign_public_ip && !s.enable_execute_command && s.network_configuration[0].security_groups == toset(["sg-2"])])
    error_message = "A task has a public address, or can be entered."
  }

  assert {
    condition     = alltrue([for s in aws_ecs_service.server : s.deployment_circuit_breaker[0].enable && !s.deployment_circuit_breaker[0].rollback])
    error_message = "A build that may be below the floor comes back by itself."
  }

  assert {
    condition     = alltrue([for name, t in aws_appautoscaling_target.server : t.min_capacity == 2 && t.max_capacity == { api = 4, worker = 3 }[name]])
    error_message = "The services are scaled within other bounds."
  }

  assert {
    condition = [for m in aws_appautoscaling_policy.worker_queue.target_tracking_scaling_policy_configuration[0].customized_metric_specification[0].metrics : m.metric_stat[0].metric[0].metric_name if length(m.metric_stat) > 0] == ["holdfast_jobs_depth", "RunningTaskCount"]

    error_message = "The worker isn't scaled by its queue."
  }

  # What is scaled by and alarmed on must come from a port that a process has.
  assert {
    condition = alltrue([for name, port in { api = 9090, worker = 9091 } :
      yamldecode({ for e in jsondecode(aws_ecs_task_definition.server[name].container_definitions)[1].environment : e.name => e.value }["AOT_CONFIG_CONTENT"]).receivers.prometheus.config.scrape_configs[0].static_configs[0].targets == ["127.0.0.1:${port}"]
    ])
    error_message = "The collector reads another port."
  }
}
