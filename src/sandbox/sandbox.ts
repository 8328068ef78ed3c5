import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../platform/app.ts';
import { statement } from '../platform/db/database.ts';
import { makeFolder } from '../platform/db/embedded/folder.ts';
import { withUnitOfWork, rowsQueue } from '../platform/db/unit-of-work.ts';
import { formatPosition } from '../feed/time.ts';
import { deleteWithoutTrace } from '../governance/offboarding/delete.ts';
import { createKey, hashSecret } from '../integrations/access-keys/keys.ts';
import { createOrganisation, findOrganisation } from '../organisations/organisations.ts';
import { markSandbox } from '../organisations/sandboxes.ts';
import { hashPassword } from '../organisations/users/password.ts';
import { ensureOwner, makeOwner, type SandboxOwner } from './owner.ts';
import { planSandbox, type SandboxPlan } from './data/plan.ts';
import { seedOrganisation } from './seed.ts';
import { uuidOf } from '../platform/crypto/random.ts';

const seed = 'sandbox-1';

/** The state is kept in a file, so that a restarted sandbox has the same key and the same learners. */
type SandboxState = {
  organisation_id: string;
  access_key_id: string;
  secret_access_key: string;
  learners: number;
  referenceMs: number;
  seeded: boolean;
  owner?: SandboxOwner;
};

export type Sandbox = {
  organisation: { organisation_id: number; public_id: string; name: string };
  plan: SandboxPlan;
  keyId: string;
  secret: string;
  owner: SandboxOwner;
  /** Seeds missing learners until all exist or the signal aborts. @returns how many learners the sandbox has */
  fill(onProgress: (learners: number) => void, signal: AbortSignal): Promise<number>;
};

const statePath = (app: App) => join(app.settings.dataDir, 'sandbox.json');

export async function sandboxOwner(app: App): Promise<SandboxOwner | null> {
  return (await readState(app))?.owner ?? null;
}

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

const keyIsGood = statement('sandbox.key_is_good')`
  select key_id from access_key where key_id = $1 and secret_sha256 = $2 and revoked_at is null`;

const recent = statement('sandbox.recent')`
  select position from assessment_feed where organisation_id = $1 order by position desc offset 2 limit 1`;

/** A value for `since` with which a client gets only the last few changes; null in an empty sandbox. */
export async function recentSince(app: App, organisationId: number): Promise<string | null> {
  const [row] = await app.db.query<{ position: number }>(recent, [organisationId]);
  return row === undefined ? null : formatPosition(row.position);
}

export async function resetSandbox(app: App): Promise<void> {
  const found = await findOrganisation(app.db, uuidOf(seed, 'organisation'));
  if (found !== undefined) await deleteWithoutTrace(app, found.organisation_id);
  await rm(statePath(app), { force: true });
}

/**
 * Finds or makes the sandbox, its key and its first learners. `fill` makes the other learners while the service answers
 * requests. If the service stops before `fill` ends, the next start continues.
 */
export async function openSandbox(app: App, learners: number): Promise<Sandbox> {
  const publicId = uuidOf(seed, 'organisation');
  const found = await findOrganisation(app.db, publicId);
  const kept = found === undefined ? null : await readState(app);
  const plan = planSandbox({
    seed,
    learners: Math.max(learners, kept?.learners ?? 0),
    nowMs: kept?.referenceMs ?? app.clock.nowMs(),
  });
  const organisation =
    found ??
    (await withUnitOfWork(app, null, (work) =>
      createOrganisation(work, { ...plan.organisation, groupAutocreate: true, publicId }),
    ));
  const state = await completeState(app, organisation.organisation_id, kept, plan.referenceMs);
  const { owner } = state;
  const hashed = await hashPassword(owner.password, app.random);
  await withUnitOfWork(app, rowsQueue(organisation.organisation_id), async (work) => {
    await markSandbox(work, organisation.organisation_id, null);
    await ensureOwner(work, organisation.organisation_id, owner, hashed);
  });
  let current: SandboxState = state;
  const seeding = seedOrganisation(app, organisation, plan, current.learners);
  const step = async () => {
    const { value, done } = await seeding.next();
    current = { ...current, learners: value ?? current.learners, seeded: done === true };
    await writeState(app, current);
  };
  if (current.learners === 0) await step();
  return {
    organisation,
    plan,
    keyId: current.access_key_id,
    secret: current.secret_access_key,
    owner,
    async fill(onProgress, signal) {
      while (!signal.aborted && !(current.seeded && current.learners >= learners)) {
        await step();
        onProgress(current.learners);
      }
      return current.learners;
    },
  };
}

/** The state with a key that works and an owner. */
async function completeState(
  app: App,
  organisationId: number,
  kept: SandboxState | null,
  referenceMs: number,
): Promise<SandboxState & { owner: SandboxOwner }> {
  const isKeyGood =
    kept !== null &&
    (await app.db.query(keyIsGood, [kept.access_key_id, hashSecret(kept.secret_access_key)])).length > 0;
  const pair = isKeyGood
    ? kept
    : await withUnitOfWork(app, rowsQueue(organisationId), (work) =>
        createKey(work, organisationId, { label: 'Sandbox', kind: 'test' }),
      );
  const owner = kept?.owner ?? makeOwner(app);
  const organisation_id = uuidOf(seed, 'organisation');
  const state = { organisation_id, learners: 0, seeded: false, ...kept, ...pair, referenceMs, owner };
  await writeState(app, state);
  return state;
}
