output "vpc_id" {
  value = aws_vpc.this.id
}

output "api_port" {
  value = var.api_port
}

output "public_subnet_ids" {
  value = aws_subnet.public[*].id
}

output "load_balancer_cidrs" {
  value = aws_subnet.public[*].cidr_block
}

output "private_subnet_ids" {
  value = aws_subnet.private[*].id
}

output "database_subnet_ids" {
  value = aws_subnet.database[*].id
}

output "load_balancer_security_group_id" {
  value = aws_security_group.load_balancer.id
}

output "tasks_security_group_id" {
  value = aws_security_group.tasks.id
}

output "database_security_group_id" {
  value = aws_security_group.database.id
}
