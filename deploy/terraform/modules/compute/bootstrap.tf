# Once for each database, before its first schema: the role that owns the schema, which
# is no superuser, and a database of its own. It may be repeated, and is how the
# owner's password is changed. It has the master's password, which nothing else has.

resource "aws_ecs_task_definition" "bootstrap" {
  for_each = var.databases

  family                   = "${var.name}-bootstrap-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  execution_role_arn       = aws_iam_role.execution["bootstrap"].arn

  container_definitions = jsonencode([{
    name       = "bootstrap"
    image      = "postgres:15.14-bookworm"
    essential  = true
    user       = "999:999"
    privileged = false
    entryPoint = ["sh", "-ceu"]
    command    = ["exec psql --no-psqlrc --set=ON_ERROR_STOP=1 <<'SQL'\n${file("${path.module}/bootstrap.sql")}\nSQL\n"]
    environment = [
      { name = "PGHOST", value = each.value },
      { name = "PGDATABASE", value = "postgres" },
      { name = "PGSSLMODE", value = "require" },
    ]
    secrets = [
      { name = "PGUSER", valueFrom = "${var.master_secrets[each.key]}:username::" },
      { name = "PGPASSWORD", valueFrom = "${var.master_secrets[each.key]}:password::" },
      { name = "OWNER_PASSWORD", valueFrom = var.secrets.arns["owner_password"] },
    ]
    logConfiguration = local.logging["bootstrap"]
  }])
}
