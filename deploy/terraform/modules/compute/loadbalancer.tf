resource "aws_lb" "this" {
  name               = var.name
  load_balancer_type = "application"
  internal           = false
  subnets            = var.network.public_subnet_ids
  security_groups    = [var.network.load_balancer_security_group_id]

  enable_deletion_protection = true
  drop_invalid_header_fields = true
  idle_timeout               = 120 # the API's own; a follower's poll is answered within it
}

resource "aws_lb_target_group" "api" {
  name        = var.name
  vpc_id      = var.network.vpc_id
  target_type = "ip"
  protocol    = "HTTP"
  port        = var.network.api_port

  # A task that stops fails its readiness first, and still answers for a quarter of
  # its drain. Nobody is sent to it any more when its requests are given their time.
  deregistration_delay = var.drain_seconds

  health_check {
    path                = "/readyz"
    matcher             = "200"
    interval            = 5
    timeout             = 4
    healthy_threshold   = 2
    unhealthy_threshold = 3
  }
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.this.arn
  protocol          = "HTTPS"
  port              = 443
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}

resource "aws_lb_listener" "http" {
  load_balancer_arn = aws_lb.this.arn
  protocol          = "HTTP"
  port              = 80

  default_action {
    type = "redirect"

    redirect {
      protocol    = "HTTPS"
      port        = "443"
      status_code = "HTTP_301"
    }
  }
}
