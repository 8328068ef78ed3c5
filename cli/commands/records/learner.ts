import type { App } from '../../../src/platform/app.ts';
import { exportLearner } from '../../../src/governance/subject-access/export.ts';
import { changeEmail } from '../../../src/sittings/invitations/contact.ts';
import { learnerRefExpected } from '../../../src/platform/validation/fields.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { type NamedLearner, correctName, findNamedLearner } from '../../../src/records/learners/rename.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { type MergePreview, type Side, previewMerge } from '../../../src/governance/deduplication/preview.ts';
import { removeEmail } from '../../../src/governance/erasure/remove-email.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { previewErasure } from '../../../src/governance/erasure/preview.ts';
import { damageOf } from '../../../src/platform/validation/person-name.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isOpaqueRef } from '../../../src/platform/validation/personal-data.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { type Call, type Command, Failure, Misuse } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { inviteCommands } from '../sittings/invite.ts';
import { listCommands } from './learner-list.ts';
import { missingLearner, learnerCommand, namedLearner } from '../../kit/learner-argument.ts';
import { type Inside, missing, operator, organisationCommand, orMissing } from '../../kit/open.ts';
import { pick } from '../../kit/table.ts';
import { checked, email, flag, line, maybeReason, required, text } from '../../kit/options.ts';

type Changing = Call<{ reason: string | undefined }> & Inside & { who: NamedLearner };

const byOf = ({ options }: Changing) => ({ actor: operator, reason: options.reason ?? null });

/**
 * Changes one learner. The audit log records the learner's ID as the resource.
 * @throws Failure if there is no such learner
 */
function change<T extends { learner_id: string }>(
  { organisationId, act, who }: Changing,
  verb: (work: UnitOfWork, organisationId: number, who: NamedLearner) => Promise<T>,
): Promise<T> {
  const refused =
    'ref' in who ? orMissing('learner', who.ref, { by: 'reference' }) : orMissing('learner', who.learnerId);
  return act<T>({ of: 'learner_id' }, (work) => verb(work, organisationId, who).catch(refused));
}

const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`;

/** Finds the ID of a learner who is named by reference or ID. @throws Failure */
async function idOfNamed(app: App, organisationId: number, name: string): Promise<string> {
  const learner =
    (await findNamedLearner(app.db, organisationId, { ref: name })) ??
    (isUuid(name) ? await findNamedLearner(app.db, organisationId, { learnerId: name.toLowerCase() }) : undefined);
  if (learner === undefined) throw missing('learner', name, { by: 'reference' });
  return learner.learner_id;
}

/** The preview of a merge in IDs and numbers, without personal data. */
function numbersOf({ from, into, joins, alike, refused }: MergePreview) {
  const side = (one: Side) =>
    pick(one, 'learner_id', 'results', 'withdrawn', 'evidence', 'open_invitations', 'sitting');
  return { from: side(from), into: side(into), groups: joins.length, alike, refused };
}

function sentenceOf({ from, into, joins, alike, refused }: MergePreview): string {
  if (refused !== null) return `They can't be merged now: ${refused}.`;
  const twice = alike === 0 ? '' : ` ${count(alike, 'result')} of one subject and time are on both sides.`;
  return `The learner ${into.learner_id} has ${count(into.results, 'result')}. The merge adds ${count(from.results, 'result')}, ${count(from.open_invitations, 'open invitation')}, ${count(from.sitting.length, 'sitting')} under way and ${count(joins.length, 'group')}. With --confirm, the learner ${from.learner_id} becomes a tombstone, and its references then name the other learner. A merge cannot be undone.${twice}`;
}

const refOrId = required(checked('REF|ID', 'a reference or an ID, never a name or an address', isOpaqueRef));

export const commands: Command[] = [
  ...listCommands,
  ...inviteCommands,
  learnerCommand({
    name: 'learner rename',
    summary: "Correct a learner's name",
    examples: [
      '--organisation $ORG L-1001 --name "Ana Silva"',
      '--organisation $ORG --learner-id LEARNER_ID --name "Ana Silva" --reason "Marriage"',
    ],
    about: {
      name: 'The new name',
      reason: 'The reason, for the audit log',
      acceptNames: 'Accepts a name that looks damaged',
    },
    options: { name: required(line('N', limits.fullNameChars)), reason: maybeReason, acceptNames: flag },
    run: async (call) => {
      const { name, acceptNames } = call.options;
      if (damageOf(name) !== null && !acceptNames)
        throw new Failure('The name looks damaged: a letter may be lost. If it is right, add --accept-names.');
      const { learner_id, ref, changed } = await change(call, (...to) => correctName(...to, name, byOf(call)));
      return {
        json: { learner_id, ref, changed },
        text: changed ? `${ref ?? learner_id} is renamed.` : `${ref ?? learner_id} already has this name.`,
      };
    },
  }),
  learnerCommand({
    name: 'learner email',
    summary: "Change or remove a learner's email address",
    examples: ['--organisation $ORG L-1001 --to ana@example.org', '--organisation $ORG L-1001 --remove'],
    about: {
      to: 'The new email address',
      remove: 'Removes the email address',
      reason: 'The reason, for the audit log',
    },
    options: { to: email('ADDRESS'), remove: flag, reason: maybeReason },
    run: async (call) => {
      const { to: address, remove } = call.options;
      if ((address === undefined) !== remove) throw new Misuse('give either --to ADDRESS or --remove');
      const { learner_id, changed } = await change(call, (...to) =>
        address === undefined ? removeEmail(...to, byOf(call)) : changeEmail(...to, address, byOf(call)),
      );
      const done = address === undefined ? 'has no email address any more' : 'has another email address';
      return {
        json: { learner_id, changed },
        text: changed ? `The learner ${learner_id} ${done}.` : 'Nothing was changed: it was so already.',
      };
    },
  }),
  learnerCommand({
    name: 'learner reference',
    summary: 'Set or change the reference of a learner',
    notes: 'The previous reference still finds the learner.',
    examples: [
      '--organisation $ORG --learner-id LEARNER_ID --to L-1001',
      '--organisation $ORG L-1001 --to L-2001 --reason "New system"',
    ],
    about: { to: 'The new reference', reason: 'The reason, for the audit log' },
    options: { to: required(checked('NEW', learnerRefExpected, isOpaqueRef)), reason: maybeReason },
    run: async (call) => {
      const { to: ref } = call.options;
      const { learner_id, changed } = await change(call, (...to) => changeReference(...to, ref, byOf(call)));
      return {
        json: { learner_id, ref, changed },
        text: changed
          ? `The learner ${learner_id} has the reference ${ref}. The earlier reference still finds the learner.`
          : `The learner ${learner_id} already has this reference.`,
      };
    },
  }),
  organisationCommand({
    name: 'learner merge',
    summary: 'Merge two learners who are one person',
    notes: 'A merge cannot be undone. Without --confirm, the command says what would move.',
    examples: [
      '--organisation $ORG --from L-1001 --into L-2001',
      '--organisation $ORG --from L-1001 --into L-2001 --confirm',
    ],
    about: {
      from: 'The learner that ends',
      into: 'The learner that stays',
      confirm: 'Merges the learners',
      reason: 'The reason, for the audit log',
    },
    options: { from: refOrId, into: refOrId, confirm: flag, reason: maybeReason },
    run: async ({ app, organisationId, act, options: { from, into, confirm, reason = null } }) => {
      const pair = {
        from: await idOfNamed(app, organisationId, from),
        into: await idOfNamed(app, organisationId, into),
      };
      if (!confirm) {
        const preview = await previewMerge(app.db, organisationId, pair, new Date(app.clock.nowMs()));
        if (preview === undefined) throw missing('learner', pair.from);
        return { json: { merged: false, ...numbersOf(preview) }, text: sentenceOf(preview) };
      }
      const merged = await act({ of: 'learner_id' }, (work) =>
        mergeLearners(work, organisationId, pair, { actor: operator, reason }).catch(orMissing('learner', pair.from)),
      );
      return {
        json: { merged: true, ...merged },
        text: `The learner ${merged.merged_id} is merged into ${merged.learner_id}: ${count(merged.results, 'result')}, ${count(merged.invitations, 'invitation')} and ${count(merged.sittings, 'sitting')} moved, ${count(merged.groups, 'group')} joined.`,
      };
    },
  }),
  learnerCommand({
    name: 'learner erase',
    summary: 'Erase a learner',
    notes: 'An erasure cannot be undone. Without --confirm, the command says what would be erased.',
    examples: ['--organisation $ORG L-1001', '--organisation $ORG L-1001 --confirm'],
    about: { confirm: 'Erases the learner' },
    options: { confirm: flag },
    run: async ({ app, organisationId, act, who, options: { confirm } }) => {
      const { learner_id } = await namedLearner(app, organisationId, who);
      if (!confirm) {
        const found = await previewErasure(app.db, organisationId, learner_id, new Date(app.clock.nowMs()));
        if (found === undefined) throw missingLearner(who);
        const { full_name: _name, ref: _ref, ...numbers } = found;
        return {
          json: { erased: false, ...numbers },
          text: `The learner has ${count(found.results, 'result')}, ${count(found.evidence, 'evidence file')}, ${count(found.open_invitations, 'open invitation')} and ${count(found.open_sittings, 'sitting')} under way. Erasure returns ${count(found.credits_returned, 'credit')}, and deletes the content of ${count(found.messages, 'webhook event')}. With --confirm, all of it is erased: clients get tombstones, and evidence no longer verifies. An erasure cannot be undone.`,
        };
      }
      const { results, openSittings, creditsReturned } = await act(learner_id, async (work) => {
        const done = await eraseLearner(work, organisationId, learner_id, { actor: operator });
        if (done === null) throw missingLearner(who);
        return done;
      });
      return {
        json: { learner_id, erased: true, results, open_sittings: openSittings, credits_returned: creditsReturned },
        text: `The learner ${learner_id} is erased, with ${count(results, 'result')}. ${count(creditsReturned, 'credit')} returned.`,
      };
    },
  }),
  learnerCommand({
    name: 'learner export',
    summary: "Export a learner's data into a ZIP file",
    notes: 'The file is for the answer to an access request.',
    examples: [
      '--organisation $ORG L-1001 --out L-1001.zip',
      '--organisation $ORG --learner-id LEARNER_ID --out learner.zip',
    ],
    about: { out: 'The file to write' },
    options: { out: required(text('FILE')) },
    run: async ({ app, organisation, organisationId, note, who, options: { out } }) => {
      const { learner_id } = await namedLearner(app, organisationId, who);
      await note(learner_id);
      const bytes = await writeWhole(out, exportLearner(app, { organisation, learnerId: learner_id }));
      return {
        json: { learner_id, out, bytes },
        text: `${out} has everything that is held of the learner ${learner_id}.`,
      };
    },
  }),
];
