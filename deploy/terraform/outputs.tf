output "load_balancer_dns_name" {
  description = "What the domain's record points at."
  value       = module.compute.dns_name
}

output "secrets" {
  description = "The secrets whose values a person puts, by what they are for."
  value       = module.secrets.arns
}

output "bodies_bucket" {
  description = "The bucket that the processes' R2 token must be limited to."
  value       = module.bodies.bucket
}

output "roll" {
  description = "What task.sh and roll.sh work with."
  value       = module.compute.roll
}
