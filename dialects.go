package parley

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"parley/account"
	"parley/play/gateway"
	"parley/protocol/realm"
	"parley/protocol/relay/connector"
)

// listen opens all dialects.
func (s *Server) listen(c Config) error {
	for _, open := range []func(Config) error{s.replica, s.stamp, s.relay, s.duplex, s.realm} {
		if err := open(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) add(name string, addr netip.AddrPort, stats func(*Stats)) {
	s.dialects = append(s.dialects, dialect{name, addr, stats})
}

func (s *Server) replica(c Config) error {
	if c.Replica == Off {
		return nil
	}
	for _, a := range s.hub.Schema().Actions {
		switch a.Name { // replica's clients act by a message of the action's name
		case "steer", "chat", "terrain":
			return fmt.Errorf("parley: an action is named %s, and replica has a message of that name: rename the action, or set Config.Replica to Off", a.Name)
		}
	}
	d, err := gateway.NewReplica(s.hub, gateway.ReplicaConfig{Addr: c.Replica, Log: c.Log})
	if err != nil {
		return err
	}
	s.add("replica", d.Addr(), func(st *Stats) { st.Replica, st.Fields.Replica = new(d.Stats()), d.FieldBytes() })
	return nil
}

func (s *Server) stamp(c Config) error {
	if c.Stamp == Off {
		return nil
	}
	d, err := gateway.NewStamp(s.hub, gateway.StampConfig{Addr: c.Stamp, Room: c.StampRoom, Log: c.Log})
	if err != nil {
		return err
	}
	s.add("stamp", d.Addr(), func(st *Stats) { st.Stamp, st.Fields.Stamp = new(d.Stats()), d.FieldBytes() })
	return nil
}

func (s *Server) relay(c Config) error {
	if c.Relay == Off {
		return nil
	}
	if c.RelayConnector != nil {
		d, err := c.RelayConnector(c.Relay, connector.Config{Banned: s.bans.set.Holds, Log: c.Log})
		if err != nil {
			return err
		}
		s.others = append(s.others, d.Shutdown)
		s.add("relay", d.Addr(), func(st *Stats) { st.Connector = new(d.Stats()) })
		return nil
	}
	d, err := gateway.NewRelay(s.hub, gateway.RelayConfig{Addr: c.Relay, Unproven: c.RelayUnproven, Log: c.Log})
	if err != nil {
		return err
	}
	s.add("relay", d.Addr(), func(st *Stats) { st.Relay, st.Fields.Relay = new(d.Stats()), d.FieldBytes() })
	return nil
}

func (s *Server) duplex(c Config) error {
	if c.Duplex == Off {
		return nil
	}
	d, err := gateway.NewDuplex(s.hub, gateway.DuplexConfig{Addr: c.Duplex, Log: c.Log})
	if err != nil {
		return err
	}
	s.add("duplex", d.Addr(), func(st *Stats) { st.Duplex, st.Fields.Duplex = new(d.Stats()), d.FieldBytes() })
	s.add("duplex-feed", d.FeedAddr(), nil)
	return nil
}

func (s *Server) realm(c Config) error {
	if c.Realm == Off {
		return nil
	}
	if c.Accounts == nil { // and Realm was left out, or check would have refused it
		c.Log.Info("realm is off, as Config.Accounts is nil: sqlite.OpenIn of parley/account/sqlite would open accounts")
		return nil
	}
	for _, k := range s.hub.Schema().Kinds {
		if c.RealmFirstType < 0 || k.Number < c.RealmFirstType {
			return fmt.Errorf("parley: Config.RealmFirstType is %d, and kind %s has the number %d: the number must be at least as large", c.RealmFirstType, k.Name, k.Number)
		}
	}
	store, err := c.Accounts(c.DataDir)
	if err != nil {
		return fmt.Errorf("parley: accounts: %w", err)
	}
	s.store = store
	s.hub.Gate().ReserveNames(func(ctx context.Context, name string) (bool, error) {
		_, err := store.Find(ctx, account.NameKey(name))
		if errors.Is(err, account.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	var d *gateway.Realm
	var ready sync.WaitGroup // a session may end before the dialect is there
	ready.Add(1)
	s.accounts = account.New(store, account.Config{Registrations: c.Registrations, Failures: c.Failures, Log: c.Log, OnEnd: func(x *account.Session, why account.EndReason) {
		ready.Wait()
		d.SessionEnded(x, why)
	}})
	server := realm.Config{TLS: c.RealmTLS, Plain: c.RealmPlain, DataDir: c.DataDir, TimeAddr: c.RealmTime, NoTime: c.RealmTime == Off, TimeForAll: c.RealmTimeForAll}
	server.SightRadius, server.FollowSight, server.LoginWithin = c.RealmSight, c.RealmSight > 0, c.RealmLoginWithin
	server.Schema.Config, server.Extension, server.Log = c.RealmConfig, c.RealmExtension, c.Log
	if server.NoTime {
		server.TimeAddr = ""
	}
	d, err = gateway.NewRealm(s.hub, gateway.RealmConfig{Addr: c.Realm, Server: server, Accounts: gateway.NewAccounts(s.accounts), FirstType: c.RealmFirstType})
	ready.Done()
	if err != nil {
		return err
	}
	s.add("realm", d.Addr(), func(st *Stats) { st.Realm, st.Fields.Realm = new(d.Stats()), d.FieldBytes() })
	if !server.NoTime {
		s.add("realm-time", d.TimeAddr(), nil)
	}
	return nil
}

// closeOthers closes what is no dialect of the world.
func (s *Server) closeOthers() {
	late, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, shutdown := range s.others {
		shutdown(late)
	}
	if s.accounts != nil {
		s.accounts.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
}
