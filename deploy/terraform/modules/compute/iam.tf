# Two roles a process: the one by which ECS starts it, which may read that process's
# secrets and write its log, and the one that it has itself. The servers need nothing
# of AWS's but to have their metrics written; what runs once has no role at all.

locals {
  assume_by_tasks = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ecs-tasks.amazonaws.com" }
    }]
  })

  # A secret's ARN, of what may name a field in it: six colons are an ARN's own.
  secrets_of = merge(
    { for name, server in local.servers : name => distinct([for s in values(server.secrets) : join(":", slice(split(":", s), 0, min(7, length(split(":", s)))))]) },
    { for name, job in local.jobs : name => distinct([for s in values(job.secrets) : join(":", slice(split(":", s), 0, min(7, length(split(":", s)))))]) },
    { bootstrap = concat(values(var.master_secrets), [var.secrets.arns["owner_password"]]) },
  )
}

resource "aws_iam_role" "execution" {
  for_each = toset(["api", "worker", "schema", "qualify", "bootstrap"])

  name               = "${var.name}-${each.key}-execution"
  assume_role_policy = local.assume_by_tasks
}

resource "aws_iam_role_policy" "execution" {
  for_each = aws_iam_role.execution

  name = "start"
  role = each.value.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["secretsmanager:GetSecretValue"]
        Resource = local.secrets_of[each.key]
      },
      {
        Effect   = "Allow"
        Action   = ["kms:Decrypt"]
        Resource = [var.secrets.kms_key_arn]
      },
      {
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["${var.log_groups[each.key]}:*"]
      },
      {
        Effect   = "Allow"
        Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        Resource = ["arn:aws:ecr:${var.region}:*:repository/*"]
      },
      # The one action that has no resource: the token opens what the one above names.
      {
        Effect   = "Allow"
        Action   = ["ecr:GetAuthorizationToken"]
        Resource = ["*"]
      },
    ]
  })
}

resource "aws_iam_role" "server" {
  name               = "${var.name}-server"
  assume_role_policy = local.assume_by_tasks
}

resource "aws_iam_role_policy" "server" {
  name = "metrics"
  role = aws_iam_role.server.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
      Resource = [var.log_groups["metrics"], "${var.log_groups["metrics"]}:*"]
    }]
  })
}
