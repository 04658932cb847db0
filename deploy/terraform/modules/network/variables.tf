variable "name" {
  type = string
}

variable "cidr" {
  type = string
}

variable "zones" {
  type = number
}

variable "api_port" {
  type    = number
  default = 8080
}
