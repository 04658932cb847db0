# The hosted environment. Everything is a module's; this says how they hang together.

locals {
  name = "holdfast-${var.environment}"
}

module "network" {
  source = "./modules/network"

  name  = local.name
  cidr  = var.cidr
  zones = var.zones
}

module "secrets" {
  source = "./modules/secrets"

  name = local.name
}

module "database" {
  source = "./modules/database"

  name              = local.name
  databases         = var.databases
  subnet_ids        = module.network.database_subnet_ids
  security_group_id = module.network.database_security_group_id
  kms_key_arn       = module.secrets.kms_key_arn
  multi_az          = var.multi_az
  backup_days       = var.backup_days
}

module "bodies" {
  source    = "./modules/bodies"
  providers = { aws = aws.bodies }

  bucket = "${local.name}-bodies"
}

module "observability" {
  source = "./modules/observability"

  name            = local.name
  log_days        = var.log_days
  alarm_topic_arn = var.alarm_topic_arn
  database_ids    = module.database.ids
  load_balancer   = module.compute.load_balancer
  target_group    = module.compute.target_group
}

module "compute" {
  source = "./modules/compute"

  name            = local.name
  environment     = var.environment
  region          = var.region
  image           = "${var.image}@${var.build}"
  serve           = var.serve
  domain          = var.domain
  certificate_arn = var.certificate_arn
  network         = module.network
  secrets         = module.secrets

  databases        = module.database.addresses
  master_secrets   = module.database.master_secret_arns
  numbers          = { for name, d in var.databases : name => d.numbers if d.numbers != null }
  control_database = var.control_database

  bodies_endpoint = var.bodies_endpoint
  bodies_bucket   = module.bodies.bucket

  api             = var.api
  worker          = var.worker
  drain_seconds   = var.drain_seconds
  collector_image = var.collector_image
  traces_endpoint = var.traces_endpoint

  log_groups        = module.observability.log_groups
  metrics_namespace = module.observability.metrics_namespace
}
