variable "name" {
  type = string
}

variable "log_days" {
  type = number
}

variable "alarm_topic_arn" {
  type = string
}

variable "database_ids" {
  type = map(string)
}

variable "load_balancer" {
  type = string
}

variable "target_group" {
  type = string
}
