# What runs, as tables: which processes there are, and what each is given. A process
# gets the secrets that it reads and no other, and the owner's password goes to none
# that serves.

locals {
  database_urls = {
    for name, host in var.databases :
    name => "postgres://${host}:5432/holdfast?sslmode=verify-full&sslrootcert=/etc/holdfast/trust/rds.pem"
  }

  databases_environment = {
    HOLDFAST_ENVIRONMENT = var.environment
    HOLDFAST_CONTROL_URL = local.database_urls[var.control_database]
    HOLDFAST_DATA_URLS   = join(" ", [for name, _ in var.numbers : "${name}=${local.database_urls[name]}"])
    HOLDFAST_PLACEMENT   = join(" ", [for name, numbers in var.numbers : "${name}=${numbers}"])
  }

  server_environment = merge(local.databases_environment, {
    HOLDFAST_BODIES_ENDPOINT = var.bodies_endpoint
    HOLDFAST_BODIES_BUCKET   = var.bodies_bucket
    AWS_REGION               = "auto" # R2's; nothing in these processes speaks to AWS
    HOLDFAST_DRAIN_SECONDS   = tostring(var.drain_seconds)
    }, var.traces_endpoint == "" ? {} : {
    OTEL_EXPORTER_OTLP_ENDPOINT = var.traces_endpoint
  })

  server_secrets = {
    HOLDFAST_SERVER_KEYS  = var.secrets.arns["server_keys"]
    AWS_ACCESS_KEY_ID     = "${var.secrets.arns["bodies"]}:access_key_id::"
    AWS_SECRET_ACCESS_KEY = "${var.secrets.arns["bodies"]}:secret_access_key::"
  }

  # A server stops in its drain and what it closes behind it.
  stop_timeout = min(var.drain_seconds + 15, 120)

  servers = {
    api = {
      size         = var.api
      metrics_port = 9090
      probe        = "http://127.0.0.1:${var.network.api_port}/livez"
      environment = merge(local.server_environment, {
        HOLDFAST_API_ADDRESS = ":${var.network.api_port}"
        HOLDFAST_ISSUER      = "https://${var.domain}"
        HOLDFAST_PROXIES     = join(" ", var.network.load_balancer_cidrs)
      })
      secrets = merge(local.server_secrets, {
        HOLDFAST_API_PASSWORD = var.secrets.arns["api_password"]
        HOLDFAST_OPERATOR_KEY = var.secrets.arns["operator_key"]
      })
    }
    worker = {
      size         = var.worker
      metrics_port = 9091
      probe        = "http://127.0.0.1:9091/livez"
      environment  = local.server_environment
      secrets = merge(local.server_secrets, {
        HOLDFAST_WORKER_PASSWORD = var.secrets.arns["worker_password"]
      })
    }
  }

  # What runs once, when roll.sh or a person asks for it, and ends.
  jobs = {
    schema = {
      command     = ["/usr/local/bin/holdfast", "schema", "up"]
      environment = local.databases_environment
      secrets = {
        HOLDFAST_OWNER_PASSWORD  = var.secrets.arns["owner_password"]
        HOLDFAST_API_PASSWORD    = var.secrets.arns["api_password"]
        HOLDFAST_WORKER_PASSWORD = var.secrets.arns["worker_password"]
      }
    }
    # qualify, and checks of the databases: as the API's role, on the same databases
    # and the same bucket.
    qualify = {
      command     = ["/usr/local/bin/holdfast", "qualify"]
      environment = { for name, value in local.server_environment : name => value if name != "HOLDFAST_DRAIN_SECONDS" && !startswith(name, "OTEL_") }
      secrets = {
        HOLDFAST_API_PASSWORD = var.secrets.arns["api_password"]
        AWS_ACCESS_KEY_ID     = local.server_secrets.AWS_ACCESS_KEY_ID
        AWS_SECRET_ACCESS_KEY = local.server_secrets.AWS_SECRET_ACCESS_KEY
      }
    }
  }

  # Without a shell, without a writable file, and without any right of root's.
  confined = {
    user                   = "65532:65532"
    readonlyRootFilesystem = true
    privileged             = false
    linuxParameters        = { capabilities = { add = [], drop = ["ALL"] } }
  }
}

resource "aws_ecs_task_definition" "server" {
  for_each = local.servers

  family                   = "${var.name}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = each.value.size.cpu
  memory                   = each.value.size.memory
  execution_role_arn       = aws_iam_role.execution[each.key].arn
  task_role_arn            = aws_iam_role.server.arn
  skip_destroy             = true # a rollback needs the earlier ones

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = "X86_64"
  }

  container_definitions = jsonencode([
    merge(local.confined, {
      name         = each.key
      image        = var.image
      essential    = true
      command      = ["/usr/local/bin/${each.key}"]
      portMappings = each.key == "api" ? [{ containerPort = var.network.api_port, protocol = "tcp" }] : []
      environment  = [for name in sort(keys(each.value.environment)) : { name = name, value = each.value.environment[name] }]
      secrets      = [for name in sort(keys(each.value.secrets)) : { name = name, valueFrom = each.value.secrets[name] }]
      stopTimeout  = local.stop_timeout
      # Life and not readiness: a database that is away is no reason to end a process.
      healthCheck = {
        command     = ["CMD", "/usr/local/bin/holdfast", "probe", each.value.probe]
        interval    = 10
        timeout     = 5
        retries     = 3
        startPeriod = 30
      }
      logConfiguration = local.logging[each.key]
    }),
    # It reads the private port over the loopback that a task's containers share, and
    # writes CloudWatch's metrics as log lines. Without it the process serves on.
    {
      name             = "metrics"
      image            = var.collector_image
      essential        = false
      cpu              = 64
      memory           = 256
      environment      = [{ name = "AOT_CONFIG_CONTENT", value = local.collector[each.key] }]
      logConfiguration = local.logging[each.key]
    },
  ])
}

resource "aws_ecs_task_definition" "job" {
  for_each = local.jobs

  family                   = "${var.name}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 512
  memory                   = 2048
  execution_role_arn       = aws_iam_role.execution[each.key].arn
  skip_destroy             = true

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = "X86_64"
  }

  container_definitions = jsonencode([merge(local.confined, {
    name             = each.key
    image            = var.image
    essential        = true
    command          = each.value.command
    environment      = [for name in sort(keys(each.value.environment)) : { name = name, value = each.value.environment[name] }]
    secrets          = [for name in sort(keys(each.value.secrets)) : { name = name, valueFrom = each.value.secrets[name] }]
    logConfiguration = local.logging[each.key]
  })])
}
