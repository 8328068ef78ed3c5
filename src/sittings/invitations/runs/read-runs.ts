import { statement, type Tx } from '../../../platform/db/database.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { JobRow } from '../../../feed/jobs/jobs.ts';
import type { ReadyRow, RowFault } from './row.ts';
import type { Cells } from './table.ts';

/**
 * A run invites many learners. Its rows are first checked and stored as a draft. When no row has a fault, a background
 * job can invite the learners in batches.
 * Each batch stores the run's progress in its own transaction, so that a crash causes no second invitation. The batch
 * also empties its rows. When a run is cancelled, pruned or overdue, all its rows are emptied.
 */
export type RunInput = { team_id: string | null; visibility: Visibility; mails: boolean };
export type RunProgress = {
  total: number;
  /** The counts of the last check of all rows. */
  faulty: number;
  known: number;
  open_already: number;
  credits: number;
  /** The number of the last processed row. */
  reached: number;
  invited: number;
  again: number;
  refused: number;
  /**
   * Why the service cancelled the run; null if a person cancelled it. `stopped`: the person who began the run may no
   * longer invite. `restored`: a backup was restored, and a row may contain a learner who was erased after the backup.
   */
  cancelled_because: 'overdue' | 'stopped' | 'restored' | null;
};
export type Run = JobRow & RunInput & RunProgress;

export type RunRow = {
  row_no: number;
  cells: Cells | null;
  ready: ReadyRow | null;
  faults: RowFault[] | null;
  outcome: 'invited' | 'again' | 'refused' | null;
  learner_id: string | null;
  invitation_id: string | null;
};

const rowColumns = 'row_no, cells, ready, faults, outcome, learner_id, invitation_id';

/** Rows without faults that a person has to confirm. */
const isDoubtful = `faults is null and ready -> 'doubts' is not null`;
const rowsAfter = (which: string, condition: string) =>
  statement(`invitation_run.${which}_after`)`
  select ${rowColumns} from invitation_run_row
   where organisation_id = $1 and run_id = $2 and row_no > $3 and ${condition} order by row_no limit $4`;
const pages = {
  all: rowsAfter('rows', 'true'),
  faulty: rowsAfter('faulty', 'faults is not null'),
  doubtful: rowsAfter('doubtful', isDoubtful),
};
const countDoubtful = statement('invitation_run.count_doubtful')`
  select count(*)::int4 as count from invitation_run_row where organisation_id = $1 and run_id = $2 and ${isDoubtful}`;

/** A group that the rows of a run join. `active`: null if the group does not exist yet. */
export type RunGroup = { type: string; ref: string; name: string; learners: number; active: boolean | null };
const groupsJoined = statement('invitation_run.groups')`
  with joined as materialized (
    select g ->> 'type' as type, g ->> 'ref' as ref, min(g ->> 'name') as name, count(*)::int4 as learners
      from invitation_run_row r cross join lateral jsonb_array_elements(r.ready -> 'groups') g
     where r.organisation_id = $1 and r.run_id = $2 and r.ready is not null
     group by 1, 2)
  select j.type, j.ref, j.name, j.learners, n.active from joined j
    left join learner_group n on n.organisation_id = $1 and n.type = j.type and n.ref = j.ref
   order by n.active nulls first, j.type, j.name, j.ref`;

export const groupsOfRun = (tx: Tx, organisationId: number, runId: string): Promise<RunGroup[]> =>
  tx.query(groupsJoined, [organisationId, runId]);

/** Returns rows in order: all rows, rows with faults, or rows that a person has to confirm. */
export function pageOfRows(
  tx: Tx,
  organisationId: number,
  runId: string,
  {
    after = 0,
    limit = null,
    which = 'all',
  }: { after?: number; limit?: number | null; which?: keyof typeof pages } = {},
): Promise<RunRow[]> {
  return tx.query<RunRow>(pages[which], [organisationId, runId, after, limit]);
}

export async function countDoubtfulRows(tx: Tx, organisationId: number, runId: string): Promise<number> {
  return (await tx.query<{ count: number }>(countDoubtful, [organisationId, runId]))[0]!.count;
}
