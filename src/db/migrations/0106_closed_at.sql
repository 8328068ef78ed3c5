-- When a sitting that was given up was closed: it ended when it was last touched, which may lie long before.
alter table sitting add column closed_at timestamptz;
