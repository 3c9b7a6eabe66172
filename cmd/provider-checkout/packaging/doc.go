// Package packaging holds the files for an installation of the program, and the tests that hold them to the program:
//
//	Dockerfile                  an image with the program and nothing else
//	compose.yaml                the image beside PostgreSQL, for a first look
//	provider-checkout.service   a systemd unit for a machine
//	production/                 settings, a drop-in of the unit and a site of nginx for production
//	alerts.yaml                 rules for Prometheus
//
// The tests start the image where a Docker daemon answers. Without a daemon, and as root, they lay out the same
// root file system by the Dockerfile and start the program in that. promtool and systemd-analyze are asked too.
package packaging
