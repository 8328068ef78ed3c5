import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { browseGroups, impactOfLearners } from '../../../organisations/groups/browse.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import { membershipRuns, orderMoves } from '../../../organisations/groups/runs.ts';
import { inviters, managers } from '../../../organisations/users/roles.ts';
import { findChosen, groupsOfChosen } from '../../../records/directory/chosen.ts';
import { teamField, withinOf } from '../invitations/invite.ts';
import { learnersInWords, reachInWords, noneSelected } from '../groups/members.ts';
import { typeWords } from '../kit/blocks.ts';
import { type Choice, type Faults, any, chosenIds, hiddenField, isFaulty } from '../kit/form.ts';
import { formPage, messagePage } from '../kit/page.ts';
import { visibilityOf } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, inBackground, onceOf, post } from '../kit/route.ts';

/** Actions for the learners that a person has selected in a list. */
export const chosenRoutes: ConsoleRoute[] = [
  post('/learners/chosen', inviters, ask),
  post('/learners/chosen/change', managers, change),
];

type Action = 'move' | 'add' | 'leave';

const words: Record<Action, { button: string; says: string }> = {
  move: { button: 'Move learners', says: 'Learners who are not in the old group are not changed.' },
  add: { button: 'Add to group', says: 'The learners stay in all their other groups.' },
  leave: { button: 'Remove from group', says: 'The learners stay in all their other groups.' },
};

/** The buttons below a list whose rows have boxes named `learner`. */
export const chosenButtons = ({ base, role }: Visit) =>
  html`<div class="actions">${managers.includes(role) && html`<button class="second" name="press" value="move">Move to group</button><button class="second" name="press" value="add">Add to group</button><button class="second" name="press" value="leave">Remove from group</button>`}<button class="second" formaction="${base}/learners/chosen" name="press" value="invite">Invite</button></div>`;

const backOf = ({ base }: Visit) => ({ to: `${base}/learners`, label: 'Learners' });

async function ask(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, form: sent, role } = visit;
  const ids = chosenIds(visit, 'learner').slice(0, limits.consoleRows);
  const learners = await findChosen(app.db, organisationId, ids, await visibilityOf(visit));
  if (learners.length === 0) return noneSelected(backOf(visit));
  const action = (['move', 'add', 'leave'] as const).find((one) => one === sent.raw('press'));
  if (action !== undefined && managers.includes(role)) {
    const chosen = learners.map((one) => one.learner_id);
    return groupPage(visit, action, chosen);
  }
  const within = await withinOf(visit);
  const cell = (text: string | null) => `"${(text ?? '').replaceAll('"', '""')}"`;
  const rows = learners.map((one) => [one.learner_id, one.full_name, one.email].map(cell).join('\t'));
  return formPage(visit, {
    title: `Invite ${learnersInWords(learners.length)}?`,
    back: backOf(visit),
    intro: html`<p>You check every row before learners are invited.</p>`,
    to: `${base}/invite`,
    button: 'Check rows',
    fields: (f) => [
      teamField(f, 'Each learner in the table', within),
      hiddenField('rows', ['learner_id\tfull_name\temail', ...rows].join('\n')),
      hiddenField('once', app.random.uuid()),
    ],
  });
}

const choice = (one: { group_id: string; type: string; name: string; ref: string }): Choice => ({
  value: one.group_id,
  label: `${typeWords(one.type)}: ${one.name.slice(0, 80)} (${one.ref})`,
});

async function groupPage(visit: Visit, action: Action, ids: string[], faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  const all = { after: null, limit: limits.groupsPerOrganisation };
  const [groups, own, reach] = await Promise.all([
    action === 'leave' ? [] : browseGroups(app.db, id, { type: null, active: true }, null, all),
    action === 'add' ? [] : groupsOfChosen(app.db, id, ids),
    impactOfLearners(app.db, id, ids),
  ]);
  const back = backOf(visit);
  if (action === 'leave' && own.length === 0)
    return { ...messagePage('Nothing would change', 'The selected learners are in no active group.'), back };
  const { button, says } = words[action];
  return formPage(visit, {
    title: `${button}?`,
    back,
    faults,
    intro: html`<p>Platforms read ${reachInWords(reach, limits.reachCounted)} again at their next sync. You can reverse the change later.</p>`,
    button,
    danger: action === 'leave',
    to: `${base}/learners/chosen/change`,
    fields: (f) => [
      action !== 'leave' && f.select('target', 'New group', any(groups.map(choice), 'Choose a group')),
      action !== 'add' &&
        f.select('old', 'Old group', any(own.map(choice), 'Choose a group'), {
          hint: says,
          initial: own.length === 1 ? own[0]!.group_id : visit.form.raw('group'),
        }),
      ['action', 'learners', 'once'].map((name) =>
        hiddenField(name, { action, learners: ids.join(' '), once: app.random.uuid() }[name]!),
      ),
    ],
  });
}

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, userId: by, form: sent } = visit;
  const action = (['move', 'add', 'leave'] as const).find((one) => one === sent.raw('action'));
  const ids = [...new Set(sent.raw('learners').toLowerCase().split(' '))].filter(isUuid).slice(0, limits.consoleRows);
  if (action === undefined || ids.length === 0) return noneSelected(backOf(visit));
  const wanted = { target: action !== 'leave', old: action !== 'add' };
  const [joins, leaves] = await Promise.all(
    (['target', 'old'] as const).map(async (name) => {
      const groupId = sent.raw(name).toLowerCase();
      const found = wanted[name] && isUuid(groupId) ? await findGroups(app.db, id, [groupId]) : [];
      return found[0]?.group_id ?? null;
    }),
  );
  const faults: Faults = {};
  if (wanted.target && joins === null) faults.target = 'Choose the new group.';
  if (wanted.old && leaves === null) faults.old = 'Choose the old group.';
  if (joins !== null && joins === leaves) faults.target = 'The new group is the old group. Choose another group.';
  if (isFaulty(faults)) return groupPage(visit, action, ids, faults);
  const order = { runId: onceOf(visit), learnerIds: ids, by, managingTeams: true, joins: joins!, leaves: leaves! };
  const ordered = await visit.change((work) => orderMoves(work, id, order), (joins ?? leaves)!);
  if (ordered.finished_at === null) inBackground(app, 'membership_run.failed', membershipRuns.run(app));
  return { to: `${base}/membership-runs/${order.runId}` };
}
