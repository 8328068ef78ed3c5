import type { App } from '../src/app.ts';
import { exportLearner } from '../src/disclosure/export.ts';
import { changeEmail } from '../src/invitations/contact.ts';
import type { NamedLearner } from '../src/learners/rename.ts';
import { learnerRefExpected } from '../src/fields.ts';
import { changeReference, ReferenceRefused } from '../src/learners/reference.ts';
import { correctName, findNamedLearner, NameRefused } from '../src/learners/rename.ts';
import { MergeRefused, mergeLearners } from '../src/merging/merge.ts';
import type { MergePreview, Side } from '../src/merging/preview.ts';
import { previewMerge } from '../src/merging/preview.ts';
import { removeEmail } from '../src/withdrawals/remove-email.ts';
import { eraseLearner } from '../src/withdrawals/erase.ts';
import { isEmailAddress } from '../src/email.ts';
import { previewErasure } from '../src/withdrawals/preview.ts';
import { damageOf } from '../src/learner-name.ts';
import { limits } from '../src/limits.ts';
import { isOpaqueRef } from '../src/personal-data.ts';
import type { Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { writeWhole } from './in-place.ts';
import { inviteCommands } from './invite.ts';
import { listCommands } from './learner-list.ts';
import { matchingCommands } from './matching.ts';
import { goneFor, namedLearner, readLearner } from './named-learner.ts';
import {
  act,
  missing,
  operator,
  option,
  organisationOf,
  orMissing,
  readReason,
  requiredOption,
  requiredText,
  withApp,
} from './open.ts';
import { isUuid } from '../src/uuid.ts';

/** What the verb says of the learner, as a failure of the command. */
const refusedFor =
  (who: NamedLearner) =>
  (error: unknown): never => {
    if (error instanceof ReferenceRefused || error instanceof NameRefused) throw new Failure(error.message);
    return 'ref' in who
      ? orMissing('learner', who.ref, { by: 'reference' })(error)
      : orMissing('learner', who.learnerId)(error);
  };

const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`;

/** The learner whom a reference reaches, or the one with the id. @throws Failure */
async function idOfNamed(app: App, organisationId: number, text: string): Promise<string> {
  const learner =
    (await findNamedLearner(app.db, organisationId, { ref: text })) ??
    (isUuid(text) ? await findNamedLearner(app.db, organisationId, { learnerId: text.toLowerCase() }) : undefined);
  if (learner === undefined) throw missing('learner', text, { by: 'reference' });
  return learner.learner_id;
}

/** The preview without what names anybody. */
function numbersOf({ from, into, joins, alike, refused }: MergePreview) {
  const side = ({ learner_id, results, withdrawn, evidence, open_invitations, sitting }: Side) => ({
    learner_id,
    results,
    withdrawn,
    evidence,
    open_invitations,
    sitting,
  });
  return { from: side(from), into: side(into), groups: joins.length, alike, refused };
}

function sentenceOf({ from, into, joins, alike, refused }: MergePreview): string {
  if (refused !== null) return `They can't be merged now: ${refused}.`;
  const twice = alike === 0 ? '' : ` ${count(alike, 'result')} of one subject and moment stand on both sides.`;
  return `${count(from.results, 'result')}, ${count(from.open_invitations, 'open invitation')} and ${count(from.sitting.length, 'sitting')} under way would be those of the learner ${into.learner_id}, who has ${count(into.results, 'result')} and would join ${count(joins.length, 'group')}.${twice} With --confirm the learner ${from.learner_id} becomes a tombstone, whose references reach the other for good: a merge can't be undone.`;
}

export const commands: Command[] = [
  ...listCommands,
  ...inviteCommands,
  ...matchingCommands,
  {
    name: 'learner rename',
    usage: '--organisation ID REF|--learner-id ID --name N [--reason R] [--accept-names]',
    summary: "Correct a learner's name, without an invitation",
    positionals: [0, 1],
    options: {
      organisation: { type: 'string' },
      'learner-id': { type: 'string' },
      name: { type: 'string' },
      reason: { type: 'string' },
      'accept-names': { type: 'boolean' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      const name = requiredText(call, 'name', limits.fullNameChars);
      if (damageOf(name) !== null && call.options['accept-names'] !== true)
        throw new Failure('The name looks damaged: a letter may be lost. If it is right, add --accept-names.');
      const reason = option(call, 'reason') === undefined ? null : readReason(call);
      return withApp(async (app) => {
        const found = await organisationOf(app, id);
        const { learner_id, ref, changed } = await act(app, found.organisation_id, 'learner rename', async (work) => {
          const result = await correctName(work, found.organisation_id, who, name, { actor: operator, reason }).catch(
            refusedFor(who),
          );
          return { result, resource: result.learner_id };
        });
        return {
          json: { learner_id, ref, changed },
          text: changed ? `${ref ?? learner_id} is renamed.` : `${ref ?? learner_id} already has this name.`,
        };
      });
    },
  },
  {
    name: 'learner email',
    usage: '--organisation ID REF|--learner-id ID --to ADDRESS|--remove [--reason R]',
    summary: "Change a learner's e-mail address, or take it away",
    positionals: [0, 1],
    options: {
      organisation: { type: 'string' },
      'learner-id': { type: 'string' },
      to: { type: 'string' },
      remove: { type: 'boolean' },
      reason: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      const to = option(call, 'to') ?? null;
      if ((to === null) !== (call.options.remove === true)) throw new Misuse('give either --to ADDRESS or --remove');
      if (to !== null && !isEmailAddress(to))
        throw new Misuse('--to must be an e-mail address, such as name@example.org');
      const reason = option(call, 'reason') === undefined ? null : readReason(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const { learner_id, changed } = await act(app, organisation_id, 'learner email', async (work) => {
          const by = { actor: operator, reason };
          const done =
            to === null ? removeEmail(work, organisation_id, who, by) : changeEmail(work, organisation_id, who, to, by);
          const result = await done.catch(refusedFor(who));
          return { result, resource: result.learner_id };
        });
        const done = to === null ? 'has no e-mail address any more' : 'has another e-mail address';
        return {
          json: { learner_id, changed },
          text: changed ? `The learner ${learner_id} ${done}.` : 'Nothing was changed: it was so already.',
        };
      });
    },
  },
  {
    name: 'learner reference',
    usage: '--organisation ID REF|--learner-id ID --to NEW [--reason R]',
    summary: 'Give a learner a reference, or another one; the one of before still reaches them',
    positionals: [0, 1],
    options: {
      organisation: { type: 'string' },
      'learner-id': { type: 'string' },
      to: { type: 'string' },
      reason: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      const to = requiredOption(call, 'to');
      if (!isOpaqueRef(to)) throw new Misuse(`--to must be ${learnerRefExpected}`);
      const reason = option(call, 'reason') === undefined ? null : readReason(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const { learner_id, changed } = await act(app, organisation_id, 'learner reference', async (work) => {
          const result = await changeReference(work, organisation_id, who, to, { actor: operator, reason }).catch(
            refusedFor(who),
          );
          return { result, resource: result.learner_id };
        });
        return {
          json: { learner_id, ref: to, changed },
          text: changed
            ? `The learner ${learner_id} has the reference ${to}; what was theirs before still reaches them.`
            : `The learner ${learner_id} already has this reference.`,
        };
      });
    },
  },
  {
    name: 'learner merge',
    usage: '--organisation ID --from REF|ID --into REF|ID [--confirm] [--reason R]',
    summary: 'Merge two learners who are one person; without --confirm, say what would move',
    positionals: [0, 0],
    options: {
      organisation: { type: 'string' },
      from: { type: 'string' },
      into: { type: 'string' },
      confirm: { type: 'boolean' },
      reason: { type: 'string' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const named = { from: requiredOption(call, 'from'), into: requiredOption(call, 'into') };
      for (const [name, text] of Object.entries(named))
        if (!isOpaqueRef(text)) throw new Misuse(`--${name} must be a reference or an id, never a name or an address`);
      const reason = option(call, 'reason') === undefined ? null : readReason(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const pair = {
          from: await idOfNamed(app, organisation_id, named.from),
          into: await idOfNamed(app, organisation_id, named.into),
        };
        if (call.options.confirm !== true) {
          const preview = await previewMerge(app.db, organisation_id, pair, new Date(app.clock.nowMs()));
          if (preview === undefined) throw missing('learner', pair.from);
          return { json: { merged: false, ...numbersOf(preview) }, text: sentenceOf(preview) };
        }
        const merged = await act(app, organisation_id, 'learner merge', async (work) => {
          const result = await mergeLearners(work, organisation_id, pair, { actor: operator, reason }).catch(
            (error: unknown) => {
              if (error instanceof MergeRefused) throw new Failure(error.message);
              return orMissing('learner', pair.from)(error);
            },
          );
          return { result, resource: result.learner_id };
        });
        return {
          json: { merged: true, ...merged },
          text: `The learner ${merged.merged_id} is merged into ${merged.learner_id}: ${count(merged.results, 'result')}, ${count(merged.invitations, 'invitation')} and ${count(merged.sittings, 'sitting')} moved, ${count(merged.groups, 'group')} joined.`,
        };
      });
    },
  },
  {
    name: 'learner erase',
    usage: '--organisation ID REF|--learner-id ID [--confirm]',
    summary: 'Erase a learner with all that is held of them; without --confirm, say what would go',
    positionals: [0, 1],
    options: { organisation: { type: 'string' }, 'learner-id': { type: 'string' }, confirm: { type: 'boolean' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const { learner_id } = await namedLearner(app, organisation_id, who);
        const gone = goneFor(who);
        if (call.options.confirm !== true) {
          const found = await previewErasure(app.db, organisation_id, learner_id, new Date(app.clock.nowMs()));
          if (found === undefined) throw gone;
          const { full_name: _name, ref: _ref, ...numbers } = found;
          return {
            json: { erased: false, ...numbers },
            text: `The learner has ${count(found.results, 'result')}, ${count(found.evidence, 'evidence file')}, ${count(found.open_invitations, 'open invitation')} and ${count(found.open_sittings, 'sitting')} under way; ${count(found.credits_returned, 'credit')} would come back, and ${count(found.messages, 'message')} to webhooks would be emptied. With --confirm all of it is erased for good: consumers get tombstones, evidence no longer verifies, and nothing brings it back.`,
          };
        }
        const erasure = await act(app, organisation_id, 'learner erase', async (work) => {
          const result = await eraseLearner(work, organisation_id, learner_id, { actor: operator });
          if (result === null) throw gone;
          return { result, resource: learner_id };
        });
        return {
          json: {
            learner_id,
            erased: true,
            results: erasure.results,
            open_sittings: erasure.openSittings,
            credits_returned: erasure.creditsReturned,
          },
          text: `The learner ${learner_id} is erased, with ${count(erasure.results, 'result')}; ${count(erasure.creditsReturned, 'credit')} came back.`,
        };
      });
    },
  },
  {
    name: 'learner export',
    usage: '--organisation ID REF|--learner-id ID --out FILE',
    summary: 'Write everything that is held of a learner into one ZIP file, for that person',
    positionals: [0, 1],
    options: { organisation: { type: 'string' }, 'learner-id': { type: 'string' }, out: { type: 'string' } },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const who = readLearner(call);
      const out = requiredOption(call, 'out');
      return withApp(async (app) => {
        const organisation = await organisationOf(app, id);
        const { learner_id } = await namedLearner(app, organisation.organisation_id, who);
        await act(app, organisation.organisation_id, 'learner export', async () => ({
          result: null,
          resource: learner_id,
        }));
        const bytes = await writeWhole(out, exportLearner(app, { organisation, learnerId: learner_id }));
        return {
          json: { learner_id, out, bytes },
          text: `${out} has everything that is held of the learner ${learner_id}.`,
        };
      });
    },
  },
];
