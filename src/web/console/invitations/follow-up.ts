import { inviters, learnerReaders, managers } from '../../../organisations/users/roles.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { subjectOf } from '../../../records/results/facet.ts';
import type { RetakeDue } from '../../../sittings/invitations/retakes-due.ts';
import { listRetakesDue, maxRetakesRead, retakeDays } from '../../../sittings/invitations/retakes-due.ts';
import { code, day, filters, number } from '../kit/blocks.ts';
import { tickBox } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { chosenButtons } from '../learners/chosen.ts';
import { filteredVisibility, openToken, sealToken } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { chosenGroups, groupFields, tutorField } from '../results/filter.ts';
import { levelNames } from '../../../records/results/lists/filter-query.ts';
import { readPage, readToken, withQuery, pager } from '../kit/paging.ts';
import { table, plain, wideOnly } from '../kit/table.ts';

export const followUpRoutes: ConsoleRoute[] = [get('/follow-up', learnerReaders, followUp, { menu: 'Follow up' })];

async function followUp(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, path, query, role, zone } = visit;
  const [visibility, tutors, fields, { retake_gap_days: gapDays }] = await Promise.all([
    filteredVisibility(visit),
    tutorField(visit),
    groupFields(visit),
    readOrganisation(app.db, id),
  ]);
  const [at, last] = readToken(openToken(visit, visibility, query.get('after') ?? ''), 'int8', 'uuid') ?? [];
  const after = last === undefined ? null : { assessedAt: Number(at), assessmentId: last };
  const which = { visibility, groupIds: chosenGroups(query), after, nowMs: app.clock.nowMs() };
  const found = await readPage<RetakeDue>(async (limit) =>
    gapDays === null ? [] : listRetakesDue(app.db, id, { ...which, gapDays, limit }),
  );
  const to = (list: string, state: string) => withQuery(`${base}/${list}`, query, { state, after: null, type: null });
  const settings = managers.includes(role) ? html`<a href="${base}/settings">Settings</a>` : 'Settings';
  const meaning = `Learners whose last result in a subject is ${gapDays} to ${Number(gapDays) + retakeDays} days old, below Level 3 and without an open invitation.`;
  return {
    title: 'Follow up',
    says: 'Learners who need a reminder, help, an answer or another assessment.',
    main: [
      filters(path, [tutors, fields]),
      html`<ul class="choices"><li><a href="${to('invitations', 'sent')}">Not started</a></li><li><a href="${to('invitations', 'unopened')}">Not started for ${limits.unopenedDays} days</a></li><li><a href="${to('invitations', 'paused')}">Stopped in the middle</a></li><li><a href="${to('review', 'asked')}">Reviews that learners wait for, overdue first</a></li></ul>`,
      html`<h2>Retake due</h2><p>${gapDays === null ? html`An owner or admin can enter the days between two assessments in ${settings}. This list then shows who may take a subject again.` : meaning}</p>`,
      gapDays !== null &&
        chooseForm(
          visit,
          found.rows.length > 0,
          table<RetakeDue>(
            {
              caption: `Newest first. Of all learners, a page checks ${number(maxRetakesRead)} results: choose a team or group for an exact list.`,
              none: 'No retake is due for these learners.',
            },
            found.rows,
            {
              Learner: (row) => html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>`,
              Reference: wideOnly((row) => code(row.ref)),
              Subject: plain((row) => shortSubjectNames[subjectOf(row.facet)]),
              'Last level': plain(
                (row) => html`<a href="${base}/results/${row.assessment_id}">${levelNames[row.facet & 7]}</a>`,
              ),
              Assessed: wideOnly((row) => day(row.assessed_at, zone)),
              ...(inviters.includes(role) && {
                Choose: (row: RetakeDue) => tickBox('learner', row.learner_id, row.full_name),
              }),
            },
          ),
        ),
      pager(visit, found.last && sealToken(visit, visibility, `${found.last.assessed_at}.${found.last.assessment_id}`)),
    ],
  };
}

function chooseForm(visit: Visit, hasRows: boolean, shown: Content): Content {
  if (!hasRows || !inviters.includes(visit.role)) return shown;
  return html`<form method="post" action="${visit.base}/learners/chosen">${shown}${chosenButtons(visit)}</form>`;
}
