package keep

import "time"

// patience is how long tests wait for what must come.
const patience = 2 * time.Minute

func child() bool { return false }
