variable "name" {
  type = string
}

variable "environment" {
  type = string
}

variable "region" {
  type = string
}

variable "image" {
  type        = string
  description = "REPOSITORY@sha256:…"
}

variable "serve" {
  type = bool
}

variable "domain" {
  type = string
}

variable "certificate_arn" {
  type = string
}

variable "network" {
  type = object({
    vpc_id                          = string
    api_port                        = number
    public_subnet_ids               = list(string)
    private_subnet_ids              = list(string)
    load_balancer_cidrs             = list(string)
    load_balancer_security_group_id = string
    tasks_security_group_id         = string
  })
}

variable "secrets" {
  type = object({
    arns        = map(string)
    kms_key_arn = string
  })
}

variable "databases" {
  type        = map(string)
  description = "Hosts, by the databases' names."
}

variable "master_secrets" {
  type        = map(string)
  description = "RDS's own secrets, by the databases' names."
}

variable "numbers" {
  type        = map(string)
  description = "The numbers that live on each, of those that have any."
}

variable "control_database" {
  type = string
}

variable "bodies_endpoint" {
  type = string
}

variable "bodies_bucket" {
  type = string
}

variable "api" {
  type = object({ cpu = number, memory = number, least = number, most = number, requests_per_minute = number })
}

variable "worker" {
  type = object({ cpu = number, memory = number, least = number, most = number, jobs_due = number })
}

variable "drain_seconds" {
  type = number
}

variable "collector_image" {
  type = string
}

variable "traces_endpoint" {
  type = string
}

variable "log_groups" {
  type        = map(string)
  description = "ARNs of the log groups, by the tasks' names, and of the metrics."
}

variable "metrics_namespace" {
  type = string
}
