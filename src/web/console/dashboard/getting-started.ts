import { statement } from '../../../platform/db/database.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { moment } from '../kit/blocks.ts';
import type { Visit } from '../kit/route.ts';

/** A step of a list that disappears when every step is done. `at`: when the step was done, if the time is known. */
export type Step = { what: string; how: Content; isDone: boolean; at?: Date | undefined };

export function gettingStarted(steps: readonly Step[], zone: string, title = 'Getting started'): Content {
  const done = steps.filter((one) => one.isDone).length;
  if (done === steps.length) return null;
  const items = steps.map(({ what, how, isDone, at }) => {
    if (!isDone) return html`<li><span aria-hidden="true">○</span> ${what}<p class="hint">${how}</p></li>`;
    const when = at === undefined ? 'done' : html`done, ${moment(at, zone)}`;
    return html`<li><span class="tick" aria-hidden="true">✓</span> ${what} <span class="hint">(${when})</span></li>`;
  });
  return html`<h2>${title}</h2><p>${done} of ${steps.length} done. The service ticks each step when the step is complete.</p><ol class="ticks">${items}</ol>`;
}

// Every part reads one or two rows.
const state = statement('organisation.getting_started')`
  select (select count(*) from (select from user_membership where organisation_id = $1 limit 2) m) > 1
           or exists (select from user_invitation where organisation_id = $1) as people,
         exists (select from learner_group where organisation_id = $1 and type = 'team') as teams,
         exists (select from organisation where organisation_id = $1 and contact is not null) as contact,
         exists (select from retention_policy where organisation_id = $1) as retention,
         exists (select from invitation where organisation_id = $1) as invited,
         exists (select from access_key where organisation_id = $1) as key`;

type SetUp = Record<'people' | 'teams' | 'contact' | 'retention' | 'invited' | 'key', boolean>;

const link = (to: string, words: string) => html`<a href="${to}">${words}</a>`;

/** What an owner sets up first. A sandbox has the people of its organisation and needs none of it. */
export async function setUpPart({ app, base, role, organisation, organisationId, zone }: Visit): Promise<Content> {
  if (!managers.includes(role) || organisation.is_sandbox) return null;
  const [is] = await app.db.query<SetUp>(state, [organisationId]);
  const steps: Step[] = [
    {
      what: 'People are invited',
      how: html`${link(`${base}/people/invite`, 'Invite a person')}, each with a role.`,
      isDone: is!.people,
    },
    {
      what: 'A team is created',
      how: html`${link(`${base}/teams/create`, 'Create a team')}. Tutors see the learners of their teams.`,
      isDone: is!.teams,
    },
    {
      what: 'Learners can contact you',
      how: html`${link(`${base}/settings`, 'Enter the contact for learners')}. Learner pages show it.`,
      isDone: is!.contact,
    },
    {
      what: 'The retention periods are set',
      how: html`${link(`${base}/data-protection/retention`, 'Set the retention periods')} for each kind of data.`,
      isDone: is!.retention,
    },
    {
      what: 'The first learners are invited',
      how: html`${link(`${base}/invite`, 'Invite learners')} with a table of names.`,
      isDone: is!.invited,
    },
    {
      what: 'A key is created',
      how: html`${link(`${base}/keys/create`, 'Create a key')} for the first platform.`,
      isDone: is!.key,
    },
  ];
  return gettingStarted(steps, zone);
}
