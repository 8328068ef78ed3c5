import type { App } from '../../platform/app.ts';
import { auditAct } from '../../platform/audit/act.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import {
  eachInTurn,
  feedQueue,
  type Going,
  inSteps,
  type UnitOfWork,
  withUnitOfWork,
} from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../position.ts';

/**
 * A job is background work in steps. A step is a unit of work that also stores the progress, so any process can
 * continue the job after a crash.
 */
export type JobRow = {
  organisation_id: number;
  run_id: string;
  /** `waiting`: the job needs something that is missing, such as credits. */
  status: 'draft' | 'running' | 'waiting' | 'cancelled' | 'finished';
  created_by: string;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
};

export type JobKey = Pick<JobRow, 'organisation_id' | 'run_id'>;

type JobKind = 'import_run' | 'invitation_run' | 'membership_run' | 'resend' | 'retention';

/** The outcome of a step. If `status` is absent, the job is still running. */
export type Stepped<P> = { status?: JobRow['status']; progress?: Partial<P> };

type Because = string | null;

type Handler<J, I, P> = {
  kind: JobKind;
  /** How long jobs are kept: drafts after their creation, and other jobs after their end. */
  kept?: { which: 'draft' | 'ended'; ms: number; input?: Partial<I> };
  evenSuspended?: true;
  /** @returns null if there is nothing to do now */
  step(work: UnitOfWork, job: J, isSuspended: boolean): Promise<Stepped<P> | null>;
  forget?(work: UnitOfWork, job: J): Promise<unknown>;
  /** What the audit log records if the service cancels a job: the action, and the progress so far. */
  cancelled?: { action: string; after(job: J): string };
};

export const added = <C extends Record<string, number>>(job: NoInfer<C>, counts: C): C =>
  Object.fromEntries(Object.entries(counts).map(([key, n]) => [key, job[key]! + n])) as C;

const columns =
  'organisation_id, job_id as run_id, status, created_by, created_at, started_at, finished_at, input, progress';
const isOpen = "status in ('running', 'waiting')";
const insert = statement('job.insert')`
  insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, input, items, progress)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning job_id`;
const byId = statement('job.by_id')`
  select ${columns} from background_job where organisation_id = $1 and job_id = $2 and kind = $3`;
const lock = statement('job.lock')`${byId.text} for update`;
const newest = statement('job.newest')`
  select ${columns} from background_job where organisation_id = $1 and kind = $2 and ($3::text is null or created_by = $3)
   order by created_at desc, job_id desc limit $4`;
const unended = statement('job.unended')`
  select ${columns} from background_job
   where organisation_id = $1 and kind = $2 and (status = 'draft' or ${isOpen}) and created_at < $3 order by created_at for update`;
const open = statement('job.open')`
  select organisation_id, job_id as run_id from (
    select organisation_id, job_id, created_at, row_number() over (partition by organisation_id order by status, created_at) as n
      from background_job where kind = $1 and ${isOpen}) j
   order by n, created_at limit 1000`;
const old = statement('job.old')`
  select organisation_id, job_id as run_id from background_job where kind = $1 and status = $2 and created_at < $3 limit 100`;
const items = statement('job.items')`
  select items[$3 + 1:$3 + $4] as items from background_job where organisation_id = $1 and job_id = $2`;
const save = statement('job.save')`
  update background_job
     set status = coalesce($3, status), created_by = coalesce($4, created_by), started_at = coalesce($5, started_at),
         finished_at = case when $3 in ('finished', 'cancelled') then $6 else finished_at end,
         input = input || $7::jsonb, progress = progress || $8::jsonb
   where organisation_id = $1 and job_id = $2`;
const prune = statement('job.prune')`
  delete from background_job
   where kind = $1 and ($2 = 'draft' and status = 'draft' and created_at < $3 or $2 = 'ended' and finished_at < $3) and input @> $4::jsonb`;

type Stored<I, P> = JobRow & { input: I; progress: P };
const flat = <I, P>({ input, progress, ...row }: Stored<I, P>): JobRow & I & P => ({ ...row, ...input, ...progress });

type Changes<I, P> = {
  status?: JobRow['status'];
  createdBy?: string;
  startedAt?: Date;
  input?: Partial<I>;
  progress?: Partial<P> & { cancelled_because?: Because };
};

function rowsOf<I extends object, P extends object>({ kind, kept }: Handler<JobRow & I & P, I, P>) {
  type Job = JobRow & I & P;
  const all = async (tx: Tx, sql: typeof byId, values: unknown[]): Promise<Job[]> =>
    (await tx.query<Stored<I, P>>(sql, values)).map(flat);

  return {
    /** @returns false if a job with this ID already exists */
    async order(
      work: UnitOfWork,
      organisationId: number,
      job: { runId: string; by: string; status?: 'draft'; input: I; items?: readonly string[]; progress: P },
    ): Promise<boolean> {
      const { runId, by, status = 'running', input, items: listed = null, progress } = job;
      const texts = [JSON.stringify(input), listed, JSON.stringify(progress)];
      const values = [organisationId, runId, kind, status, by, new Date(work.nowMs), ...texts];
      return (await work.tx.query(insert, values)).length > 0;
    },
    find: async (tx: Tx, organisationId: number, runId: string): Promise<Job | undefined> =>
      (await all(tx, byId, [organisationId, runId, kind]))[0],
    lock: async ({ tx }: UnitOfWork, organisationId: number, runId: string): Promise<Job | undefined> =>
      (await all(tx, lock, [organisationId, runId, kind]))[0],
    /** Lists the newest jobs first. `by`: only the jobs that this person created. */
    list: (tx: Tx, organisationId: number, limit: number, by: string | null = null): Promise<Job[]> =>
      all(tx, newest, [organisationId, kind, by, limit]),
    unended: ({ tx }: UnitOfWork, organisationId: number, before: Date | 'infinity' = 'infinity'): Promise<Job[]> =>
      all(tx, unended, [organisationId, kind, before]),
    items: async ({ tx }: UnitOfWork, { organisation_id: id, run_id: runId }: JobKey, from: number, count: number) =>
      (await tx.query<{ items: string[] }>(items, [id, runId, from, count]))[0]!.items,
    async save(work: UnitOfWork, { organisation_id: id, run_id: runId }: JobKey, changes: Changes<I, P>) {
      const { status = null, createdBy = null, startedAt = null, input = {}, progress = {} } = changes;
      const texts = [JSON.stringify(input), JSON.stringify(progress)];
      await work.tx.query(save, [id, runId, status, createdBy, startedAt, new Date(work.nowMs), ...texts]);
    },
    async prune({ db, clock }: Pick<App, 'db' | 'clock'>): Promise<void> {
      const { which, ms, input = {} } = kept!;
      await db.query(prune, [kind, which, new Date(clock.nowMs() - ms), JSON.stringify(input)]);
    },
  };
}

/** The jobs of one kind. `I`: the input of a job. `P`: its progress. */
export function jobsOf<I extends object, P extends object>(handler: Handler<JobRow & I & P, I, P>) {
  type Job = JobRow & I & P;
  const { kind, step } = handler;

  const jobs = {
    ...rowsOf<I, P>(handler),
    /**
     * Cancels a job that the caller has locked; completed steps stay. `because`: why the service cancels the job, for
     * the audit log.
     */
    async end(work: UnitOfWork, job: Job, because: Because = null, progress: Partial<P> = {}): Promise<null> {
      await jobs.save(work, job, { status: 'cancelled', progress: { ...progress, cancelled_because: because } });
      await handler.forget?.(work, job);
      const { organisation_id: id, run_id: runId } = job;
      const { action, after } = handler.cancelled ?? {};
      if (because !== null)
        await auditAct(work, id, {
          actor: 'service',
          action: `${action} ${because}`,
          resource: `${runId}: cancelled after ${after!(job)}`,
        });
      return null;
    },
    /** @returns false if there is no such job, or its status is none of `from` */
    async cancel(
      work: UnitOfWork,
      organisationId: number,
      runId: string,
      options: { from?: readonly JobRow['status'][]; because?: Because; progress?: Partial<P> } = {},
    ): Promise<boolean> {
      const { from = ['draft', 'running', 'waiting'], because, progress } = options;
      await lockFeed(work, organisationId);
      const job = await jobs.lock(work, organisationId, runId);
      if (job === undefined || !from.includes(job.status)) return false;
      await jobs.end(work, job, because, progress);
      return true;
    },
    /**
     * Cancels the unfinished jobs of a restored backup, because their rows may name persons who were erased after the
     * backup.
     * @returns how many jobs were cancelled
     */
    async cancelRestored(work: UnitOfWork, organisationId: number, before: Date): Promise<number> {
      await lockFeed(work, organisationId);
      const found = await jobs.unended(work, organisationId, before);
      for (const job of found) await jobs.end(work, job, 'restored');
      return found.length;
    },
    /**
     * Runs steps until the job has nothing to do now. `evenSuspended`: also while the organisation is suspended, for
     * commands of the operator.
     */
    goOn(app: App, organisationId: number, runId: string, { signal, evenSuspended = false }: Going = {}) {
      const once = async (work: UnitOfWork): Promise<boolean> => {
        const { suspended } = await lockFeed(work, organisationId);
        const isSuspended = suspended && !evenSuspended;
        const job = await jobs.lock(work, organisationId, runId);
        if (job?.status !== 'running' && job?.status !== 'waiting') return false;
        if (isSuspended && handler.evenSuspended !== true) return false;
        const stepped = await step(work, job, isSuspended);
        if (stepped === null) return false;
        await jobs.save(work, job, stepped);
        return (stepped.status ?? 'running') === 'running';
      };
      return inSteps(() => withUnitOfWork(app, feedQueue(organisationId), once), signal);
    },
    /** Continues all jobs of the kind. Several processes may call this together, because each step locks its job. */
    async run(app: App, signal?: AbortSignal): Promise<void> {
      const found = await app.db.query<JobKey>(open, [kind]);
      await eachInTurn(app, found, `${kind}.failed`, ({ organisation_id: id, run_id: runId }) =>
        jobs.goOn(app, id, runId, { signal }),
      );
    },
    /** Cancels the jobs that have had the status for too long, unless their status has just changed. */
    async cancelOld(app: App, status: JobRow['status'], ms: number, because: Because = null): Promise<void> {
      const found = await app.db.query<JobKey>(old, [kind, status, new Date(app.clock.nowMs() - ms)]);
      await eachInTurn(app, found, `${kind}.failed`, ({ organisation_id: id, run_id: runId }) =>
        withUnitOfWork(
          app,
          feedQueue(id),
          async (work) => void (await jobs.cancel(work, id, runId, { from: [status], because })),
        ),
      );
    },
  };
  return jobs;
}
