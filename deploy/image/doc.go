// Package image holds tests only: of the Dockerfile and compose.yaml at the
// repository's root, on machines without a container engine.
//
// They are linted by the engines' own code. The image is rehearsed: its build
// commands are run as they stand, what its last stage copies is laid out in a folder,
// and the processes run with that folder as their root and as the image's user,
// beside the stack that they find in the environment (devstack). What only an engine
// can show is not shown: that base images can be fetched, and what isolates
// containers.
package image
