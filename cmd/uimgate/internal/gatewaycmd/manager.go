package gatewaycmd

import (
	"net"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	systemd "github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/daemon"
)

// A serviceManager notifies systemd, if systemd started the process with Type=notify or notify-reload. It sends nothing if NOTIFY_SOCKET is
// not set (sd_notify(3), sd_watchdog_enabled(3)).
type serviceManager struct{ log *zap.Logger }

// enter reports the phase that the process enters.
func (m serviceManager) enter(p daemon.Phase) {
	switch p {
	case daemon.Serving:
		m.send(systemd.SdNotifyReady, "STATUS=Serving")
	case daemon.Reloading:
		m.send(systemd.SdNotifyReloading, systemd.SdNotifyMonotonicUsec(), "STATUS=Reloading the configuration")
	case daemon.Stopping:
		m.send(systemd.SdNotifyStopping, "STATUS=Finishing calls")
	}
}

// sockets returns the TCP listeners that systemd passed to this process; see sd_listen_fds(3). It ignores other sockets. Only the first
// call returns them.
func (m serviceManager) sockets() []net.Listener {
	all, err := activation.Listeners()
	if err != nil {
		m.log.Warn("the sockets of systemd cannot be used", zap.Error(err))
	}
	return slices.DeleteFunc(all, func(ln net.Listener) bool {
		_, ok := ln.(*net.TCPListener)
		if !ok && ln != nil {
			_ = ln.Close()
		}
		return !ok
	})
}

func (m serviceManager) send(lines ...string) {
	if _, err := systemd.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		m.log.Warn("systemd was not notified", zap.Error(err))
	}
}

// keepAlive resets the watchdog twice per period in the background, until stop is called. It does nothing if systemd has not enabled the
// watchdog. stop must be called at most once.
func (m serviceManager) keepAlive() (stop func()) {
	period, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn("the watchdog of systemd cannot be used", zap.Error(err))
	}
	if period <= 0 {
		return func() {}
	}
	ticker, done := time.NewTicker(period/2), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				m.send(systemd.SdNotifyWatchdog)
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}
