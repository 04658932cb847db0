variable "name" {
  type = string
}

variable "databases" {
  type = map(object({
    instance_class = string
    storage_gb     = number
    max_storage_gb = number
    numbers        = optional(string)
  }))
}

variable "major_version" {
  type        = string
  default     = "15"
  description = "PostgreSQL's: the one that the tests run on."
}

variable "subnet_ids" {
  type = list(string)
}

variable "security_group_id" {
  type = string
}

variable "kms_key_arn" {
  type = string
}

variable "multi_az" {
  type = bool
}

variable "backup_days" {
  type = number
}
