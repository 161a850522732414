package storetest

import (
	"flag"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley/account"
)

// T47: random sequences of calls, which a store and Memory must answer alike: 10^4 of them in the gate, and 200 in every
// run. They run side by side, each part in a store of its own, as one sequence forgets the old addresses of all
// others.
func testModel(t *testing.T, open func(t *testing.T) account.Store) {
	const parts = 4
	if err := flag.Set("rapid.checks", fmt.Sprint(max(1, Sequences()/parts))); err != nil {
		t.Fatal(err)
	}
	for part := range parts {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			sequence := 0
			rapid.Check(t, func(r *rapid.T) {
				sequence++
				p := &pair{store: s, model: &Memory{}, prefix: fmt.Sprintf("m%d-", sequence), ids: map[account.ID]account.ID{}}
				defer p.cleanUp(r)
				r.Repeat(map[string]func(*rapid.T){
					"create":   p.create,
					"find":     p.find,
					"ousted":   p.ousted,
					"password": p.setPassword,
					"ban":      p.setBan,
					"enter":    p.enter,
					"known":    p.isKnown,
					"delete":   p.delete,
					"compare":  p.compare,
				})
				p.compare(r)
			})
		})
	}
}

// A pair is a store and its model, with what they were told. The numbers that they give are different; ids
// has the store's for the model's. The accounts of one sequence share a prefix, as
// opening a new store for each would take too long.
type pair struct {
	store  account.Store
	model  *Memory
	prefix string
	ids    map[account.ID]account.ID // 0 stands for accounts that never were
	made   []account.ID              // the model's, also of those that were deleted
	clock  int
}

// key draws one of few names, so that they meet.
func (p *pair) key(r *rapid.T) string {
	return p.prefix + rapid.SampledFrom([]string{"a", "b", "'", "ж"}).Draw(r, "key")
}

// id draws a number of the model, seldom one that there never was.
func (p *pair) id(r *rapid.T) account.ID {
	return rapid.SampledFrom(append([]account.ID{0}, p.made...)).Draw(r, "id")
}

func (p *pair) from(r *rapid.T) netip.Prefix {
	return place(rapid.IntRange(0, account.MaxKnown+3).Draw(r, "from"))
}

// now is later each time.
func (p *pair) now() time.Time {
	p.clock++
	return at(p.clock)
}

// ban draws a ban, or none.
func (p *pair) ban(r *rapid.T) account.Ban {
	b := account.Ban{Reason: rapid.StringN(0, 20, 60).Draw(r, "reason")}
	if rapid.Bool().Draw(r, "banned") {
		b.Since = p.now()
		if rapid.Bool().Draw(r, "ends") {
			b.Until = p.now()
		}
	}
	return b
}

// same compares two answers.
func (p *pair) same(r *rapid.T, what string, got, want any, err, wantErr error) {
	r.Helper()
	if !reflect.DeepEqual(got, want) || err != wantErr {
		r.Fatalf("%s: got %+v, %v\nwant %+v, %v", what, got, err, want, wantErr)
	}
}

func (p *pair) create(r *rapid.T) {
	record := account.Record{
		Account: account.Account{Name: rapid.StringN(0, 10, 40).Draw(r, "name"), Created: p.now(), Ban: p.ban(r)},
		Key:     p.key(r),
		Hash:    rapid.StringN(0, 10, 40).Draw(r, "hash"),
	}
	want, wantErr := p.model.Create(ctx, record)
	got, err := p.store.Create(ctx, record)
	if err == nil && wantErr == nil {
		p.ids[want.ID] = got.ID
		p.made = append(p.made, want.ID)
		want.ID = got.ID
	}
	p.same(r, "create", got, want, err, wantErr)
}

func (p *pair) find(r *rapid.T) {
	key := p.key(r)
	want, wantErr := p.model.Find(ctx, key)
	want.ID = p.ids[want.ID]
	got, err := p.store.Find(ctx, key)
	p.same(r, "find", got, want, err, wantErr)
}

func (p *pair) ousted(r *rapid.T) {
	var ids, modelIDs []account.ID
	for range rapid.IntRange(0, 5).Draw(r, "ids") {
		id := p.id(r)
		ids, modelIDs = append(ids, p.ids[id]), append(modelIDs, id)
	}
	now := at(p.clock - rapid.IntRange(0, 20).Draw(r, "ago"))
	banned, deleted, wantErr := p.model.Ousted(ctx, modelIDs, now)
	for _, list := range [][]account.ID{banned, deleted} {
		for i := range list {
			list[i] = p.ids[list[i]]
		}
	}
	gotBanned, gotDeleted, err := p.store.Ousted(ctx, ids, now)
	p.same(r, "ousted, banned", gotBanned, banned, err, wantErr)
	p.same(r, "ousted, deleted", gotDeleted, deleted, err, wantErr)
}

func (p *pair) setPassword(r *rapid.T) {
	id, hash := p.id(r), rapid.StringN(0, 10, 40).Draw(r, "hash")
	p.same(r, "set password", nil, nil, p.store.SetPassword(ctx, p.ids[id], hash), p.model.SetPassword(ctx, id, hash))
}

func (p *pair) setBan(r *rapid.T) {
	id, b := p.id(r), p.ban(r)
	p.same(r, "set ban", nil, nil, p.store.SetBan(ctx, p.ids[id], b), p.model.SetBan(ctx, id, b))
}

func (p *pair) enter(r *rapid.T) {
	id, v := p.id(r), account.Visit{At: p.now()}
	if rapid.IntRange(0, 9).Draw(r, "remembered") > 0 {
		v.From = p.from(r)
	}
	if rapid.IntRange(0, 9).Draw(r, "forgets") == 0 {
		v.Forget = at(p.clock - rapid.IntRange(0, 20).Draw(r, "forget"))
	}
	p.same(r, "enter", nil, nil, p.store.Enter(ctx, p.ids[id], v), p.model.Enter(ctx, id, v))
}

func (p *pair) isKnown(r *rapid.T) {
	id, from := p.id(r), p.from(r)
	want, wantErr := p.model.Known(ctx, id, from)
	got, err := p.store.Known(ctx, p.ids[id], from)
	p.same(r, "known", got, want, err, wantErr)
}

func (p *pair) delete(r *rapid.T) {
	id := p.id(r)
	p.same(r, "delete", nil, nil, p.store.Delete(ctx, p.ids[id]), p.model.Delete(ctx, id))
}

// compare compares all that there is of this sequence.
func (p *pair) compare(r *rapid.T) {
	want, _ := p.model.List(ctx, p.prefix, account.MaxList)
	for i := range want {
		want[i].ID = p.ids[want[i].ID]
	}
	got, err := p.store.List(ctx, p.prefix, len(want)+1)
	if n := len(got); n > 0 && !strings.HasPrefix(got[n-1].Key, p.prefix) {
		got = got[:n-1]
	}
	if len(got) == 0 && len(want) == 0 {
		got, want = nil, nil
	}
	p.same(r, "list", got, want, err, nil)
}

// cleanUp leaves the store as it was.
func (p *pair) cleanUp(r *rapid.T) {
	for _, id := range p.made {
		if p.model.Delete(ctx, id) == nil {
			if err := p.store.Delete(ctx, p.ids[id]); err != nil {
				r.Errorf("delete: %v", err)
			}
		}
	}
}
