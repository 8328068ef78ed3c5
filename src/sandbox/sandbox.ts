import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { makeFolder } from '../db/embedded/folder.ts';
import { inWork, rowsLane } from '../db/work.ts';
import { formatPosition } from '../feed/time.ts';
import { createKey, hashSecret } from '../keys/keys.ts';
import { createOrganisation, findOrganisation } from '../organisations/organisations.ts';
import type { SandboxPlan } from './plan.ts';
import { planSandbox } from './plan.ts';
import { seedOrganisation } from './seed.ts';
import { uuidOf } from '../random.ts';

const seed = 'sandbox-1';

/** What is kept beside the database, so that a restart shows the same key pair and the same plan. */
type SandboxState = {
  organisation_id: string;
  access_key_id: string;
  secret_access_key: string;
  learners: number;
  referenceMs: number;
  seeded: boolean;
};

export type Sandbox = {
  organisation: { organisation_id: number; public_id: string; name: string };
  plan: SandboxPlan;
  keyId: string;
  secret: string;
  learners: number;
};

const statePath = (app: App) => join(app.settings.dataDir, 'sandbox.json');

async function readState(app: App): Promise<SandboxState | null> {
  const text = await readFile(statePath(app), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as SandboxState);
}

async function writeState(app: App, state: SandboxState): Promise<void> {
  await makeFolder(app.settings.dataDir);
  const draft = `${statePath(app)}.draft`;
  await writeFile(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  await chmod(draft, 0o600);
  await rename(draft, statePath(app));
}

const keyIsGood = statement(
  'sandbox.key_is_good',
  `
  select key_id from access_key where key_id = $1 and secret_sha256 = $2 and revoked_at is null`,
);

const recent = statement(
  'sandbox.recent',
  `
  select position from assessment_feed where organisation_id = $1 order by position desc offset 2 limit 1`,
);

/** A `since` with which a first delta walk shows the last few changes and not everything; null in an empty sandbox. */
export async function recentSince(app: App, organisationId: number): Promise<string | null> {
  const [row] = await app.db.query<{ position: number }>(recent, [organisationId]);
  return row === undefined ? null : formatPosition(row.position);
}

/** Every table that holds an organisation's rows, the referring ones first. */
const tables = [
  'delivery_attempt',
  'delivery',
  'event',
  'webhook_endpoint',
  'evidence',
  'sitting_item',
  'sitting',
  'invitation',
  'assessment_change',
  'assessment_feed',
  'assessment',
  'membership',
  'learner_feed',
  'learner',
  'group_set_group',
  'group_set',
  'learner_group',
  'idempotency',
  'audit',
  'feed',
];

/** Deletes the sandbox's organisation with everything in it, and nothing else. */
export async function resetSandbox(app: App): Promise<void> {
  const found = await findOrganisation(app.db, uuidOf(seed, 'organisation'));
  if (found !== undefined) {
    await app.db.transaction(async (tx) => {
      await tx.query(
        'delete from rate_window where key_id in (select key_id from access_key where organisation_id = $1)',
        [found.organisation_id],
      );
      await tx.query('delete from access_key where organisation_id = $1', [found.organisation_id]);
      for (const table of tables)
        await tx.query(`delete from ${table} where organisation_id = $1`, [found.organisation_id]);
      await tx.query('delete from organisation where organisation_id = $1', [found.organisation_id]);
    });
  }
  await rm(statePath(app), { force: true });
}

/** Finds or makes the sandbox: a plausible organisation, the same for the same day and number of learners. */
export async function openSandbox(
  app: App,
  learners: number,
  onProgress: (learners: number) => void,
  signal: AbortSignal,
): Promise<Sandbox> {
  const publicId = uuidOf(seed, 'organisation');
  let state = await readState(app);
  let organisation = await findOrganisation(app.db, publicId);
  if (organisation === undefined) state = null;
  const plan = planSandbox({
    seed,
    learners: Math.max(learners, state?.learners ?? 0),
    nowMs: state?.referenceMs ?? app.clock.nowMs(),
  });
  const made =
    organisation ??
    (await inWork(app, null, (work) =>
      createOrganisation(work, { ...plan.organisation, groupAutocreate: true, publicId }),
    ));
  organisation = made;
  if (
    state === null ||
    (await app.db.query(keyIsGood, [state.access_key_id, hashSecret(state.secret_access_key)])).length === 0
  ) {
    const pair = await inWork(app, rowsLane(made.organisation_id), (work) =>
      createKey(work, made.organisation_id, { label: 'Sandbox', kind: 'test' }),
    );
    state = {
      organisation_id: publicId,
      ...pair,
      learners: state?.learners ?? 0,
      referenceMs: plan.referenceMs,
      seeded: state?.seeded ?? false,
    };
    await writeState(app, state);
  }
  if (!state.seeded || state.learners < learners) {
    await seedOrganisation(app, organisation, plan, onProgress, signal);
    if (!signal.aborted) {
      state = { ...state, learners: Math.max(learners, state.learners), seeded: true };
      await writeState(app, state);
    }
  }
  return { organisation, plan, keyId: state.access_key_id, secret: state.secret_access_key, learners: state.learners };
}
