mock_provider "aws" {
  source = "./tests/mocks"
}

run "nobody_reaches_a_database_but_tasks" {
  module {
    source = "./modules/network"
  }
  variables {
    name  = "holdfast-test"
    cidr  = "10.40.0.0/16"
    zones = 3
  }

  assert {
    condition     = length(aws_route_table.database.route) == 0
    error_message = "The databases' subnets lead somewhere."
  }

  assert {
    condition     = length(aws_route_table_association.database) == 3 && alltrue([for a in aws_route_table_association.database : a.route_table_id == aws_route_table.database.id])
    error_message = "A database's subnet has another way out."
  }

  assert {
    condition = (
      aws_vpc_security_group_ingress_rule.database.referenced_security_group_id == aws_security_group.tasks.id &&
      aws_vpc_security_group_ingress_rule.database.cidr_ipv4 == null &&
      aws_vpc_security_group_ingress_rule.database.from_port == 5432 && aws_vpc_security_group_ingress_rule.database.to_port == 5432
    )
    error_message = "Others than the tasks reach the databases."
  }

  assert {
    condition     = aws_vpc_security_group_ingress_rule.api.referenced_security_group_id == aws_security_group.load_balancer.id && aws_vpc_security_group_ingress_rule.api.cidr_ipv4 == null
    error_message = "Others than the load balancer reach the API."
  }

  assert {
    condition     = alltrue([for s in concat(aws_subnet.public, aws_subnet.private, aws_subnet.database) : s.map_public_ip_on_launch != true])
    error_message = "A subnet gives out public addresses."
  }

  assert {
    condition     = length(distinct([for s in concat(aws_subnet.public, aws_subnet.private, aws_subnet.database) : s.cidr_block])) == 9
    error_message = "Subnets share addresses."
  }
}
