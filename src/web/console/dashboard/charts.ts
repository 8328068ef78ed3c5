import { countByAge } from '../../../governance/result-reviews/queue.ts';
import { newestOutcomes, type Outcomes } from '../../../integrations/webhooks/browse.ts';
import { hasCountedCredits, readCreditOutlook, creditWeeks } from '../../../organisations/credits.ts';
import { groupsSeen } from '../../../organisations/groups/browse.ts';
import { countGroupTypes } from '../../../organisations/groups/list.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { auditReaders, integrators, learnerReaders } from '../../../organisations/users/roles.ts';
import { dayMonthsAfter, dayOf } from '../../../organisations/zone.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { countDays, type DayCount } from '../../../records/results/day-counts.ts';
import { type GroupDistribution, distributionOf, countsOf } from '../../../records/results/lists/distribution.ts';
import { shortSubjectNames, subjects } from '../../../engine/scoring/levels.ts';
import { countFunnel } from '../../../sittings/invitations/funnel.ts';
import { count, day, dayWords, number } from '../kit/blocks.ts';
import { barChart, columnChart, lineChart } from '../kit/chart.ts';
import { name } from '../kit/frame.ts';
import { visibilityOf } from '../kit/reader.ts';
import type { Visit } from '../kit/route.ts';
import { numeric, table } from '../kit/table.ts';

/** Key figures and charts of the dashboard. Each part is for the roles that may open the pages behind it. */

/** A key figure, and the chart below it. */
type Part = { figure?: Markup; chart: Content } | null;

const dayMs = 24 * 3600_000;
const months = 12;
const trendWeeks = 12;
/** Figures of "the last 28 days" are comparable with those before: both have four of each weekday. */
const lately = 28;
const zoneOfDays = 'Europe/London';
const maxInvitations = 5000;
const perEndpoint = 100;
const groupsShown = 8;
const maxReviews = 1000;

const figure = (title: string, value: Content, more: Content, trend: readonly number[] = []): Markup =>
  html`<li><span>${title}</span><strong>${value}</strong><span>${more}</span>${trend.length > 1 && spark(trend)}</li>`;

/** A line without a scale. The chart below has the values. */
function spark(values: readonly number[]): Markup {
  const max = Math.max(1, ...values);
  const points = values.map((value, i) => `${4 + (i * 152) / (values.length - 1)} ${30 - (value / max) * 26}`);
  return html`<svg class="chart" viewBox="0 0 160 32" aria-hidden="true"><path class="course s0" d="M${points.join('L')}"/></svg>`;
}

const percent = (part: number, of: number) => (of === 0 ? '–' : `${Math.round((100 * part) / of)} %`);

const dayText = (n: number) => new Date(n * dayMs).toISOString().slice(0, 10);

/** The days of the last months, as text: the first day of each. */
const monthsTo = (today: string) =>
  Array.from({ length: months }, (_, i) => dayMonthsAfter(`${today.slice(0, 7)}-01`, i + 1 - months));

const monthName = new Intl.DateTimeFormat('en-GB', { month: 'short', year: '2-digit', timeZone: 'UTC' });

async function resultsPart({ app, base, organisationId }: Visit, visibility: Visibility): Promise<Part> {
  const nowMs = app.clock.nowMs();
  const first = monthsTo(dayOf(new Date(nowMs), zoneOfDays));
  const today = Math.floor(Date.parse(dayOf(new Date(nowMs), zoneOfDays)) / dayMs);
  const days = await countDays(app.db, organisationId, visibility, Date.parse(first[0]!) / dayMs);
  if (days === null)
    return {
      chart: html`<p>Your teams have more than ${number(limits.membersSorted)} learners, so their results are not counted by month.</p>`,
    };
  if (days.length === 0) return null;
  const sumOf = (keep: (one: DayCount) => boolean) => days.reduce((sum, one) => (keep(one) ? sum + one.n : sum), 0);
  const recent = (from: number, to: number) => sumOf((one) => one.day <= today - from && one.day > today - to);
  const [now, before] = [recent(0, lately), recent(lately, 2 * lately)];
  const weeks = Array.from({ length: trendWeeks }, (_, i) => recent(7 * (trendWeeks - 1 - i), 7 * (trendWeeks - i)));
  const more = now === before ? 'As in the 28 days before' : `${number(before)} in the 28 days before`;
  const lastDay = (month: string) => dayText(Date.parse(dayMonthsAfter(month, 1)) / dayMs - 1);
  return {
    figure: figure('Results in 28 days', number(now), more, weeks),
    chart: lineChart({
      caption: 'Results by month and subject',
      of: 'Month',
      labels: first.map((month) => monthName.format(Date.parse(month))),
      series: subjects.map((subject, s) => ({
        name: shortSubjectNames[subject],
        values: first.map((month) =>
          sumOf((one) => one.subject === s && dayText(one.day).slice(0, 7) === month.slice(0, 7)),
        ),
      })),
      links: first.map((month) => `${base}/results?from=${month}&to=${lastDay(month)}`),
    }),
  };
}

/** The levels of the chart, with the levels of `countsOf` that belong to each. */
const bands = {
  'Below Level 1': [1, 2],
  'Level 1': [3],
  'Level 2': [4],
  'Level 3': [5],
};

async function levelsPart({ app, base, organisationId: id, query }: Visit, visibility: Visibility): Promise<Part> {
  const types = await countGroupTypes(app.db, id, await groupsSeen(app.db, id, visibility));
  const type = (types.find((one) => one.type === 'cohort') ?? types[0])?.type;
  if (type === undefined) return null;
  const subject = subjects.find((one) => one === query.get('subject')) ?? subjects[0];
  const which = { type, groupId: null, visibility };
  const rows = await distributionOf(app.db, id, which, null, groupsShown);
  const valuesOf = (row: GroupDistribution) => {
    const counts = countsOf(row, subjects.indexOf(subject));
    return Object.values(bands).map((levels) => levels.reduce((sum, level) => sum + counts[level]!, 0));
  };
  const choices = subjects.map((one) =>
    one === subject
      ? html`<strong>${shortSubjectNames[one]}</strong> `
      : html`<a href="${base}?subject=${one}#levels">${shortSubjectNames[one]}</a> `,
  );
  return {
    chart: html`<figure class="figure across" id="levels"><figcaption>Levels by ${type}</figcaption><p>${choices}</p><ul class="legend">${Object.keys(bands).map((band, i) => html`<li class="s${String(i)}">${band}</li>`)}</ul>${table(
      `${shortSubjectNames[subject]}: placed results of current members`,
      rows,
      {
        Group: (row) => html`<a href="${base}/results/spread?group=${row.group_id}">${name(row.name)}</a>`,
        ...Object.fromEntries(Object.keys(bands).map((band, i) => [band, numeric((row) => valuesOf(row)[i]!)])),
        Share: { phone: 'plain', cell: (row) => stack(valuesOf(row)) },
      },
    )}<p><a href="${base}/results/spread?type=${type}&subject=${subject}">All groups</a></p></figure>`,
  };
}

function stack(values: readonly number[]): Markup {
  const total = Math.max(
    1,
    values.reduce((sum, one) => sum + one, 0),
  );
  let x = 0;
  const rects = values.map((value, i) => {
    const width = (100 * value) / total;
    x += width;
    return html`<rect${attributes({ class: `s${i}`, x: x - width, width, height: 6 })}/>`;
  });
  return html`<svg class="level" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">${rects}</svg>`;
}

async function invitedPart({ app, base, organisationId }: Visit, visibility: Visibility): Promise<Part> {
  const since = new Date(app.clock.nowMs() - lately * dayMs);
  const found = await countFunnel(app.db, organisationId, { visibility, since, max: maxInvitations });
  const { invited, begun, finished } = found;
  if (invited === 0) return null;
  const which = invited < maxInvitations ? 'Invitations' : `The newest ${number(maxInvitations)} invitations`;
  const list = `${base}/invitations`;
  return {
    figure: figure('Finished of those invited', percent(finished, invited), `${percent(begun, invited)} started`),
    chart: barChart({
      caption: `${which} of the last ${lately} days`,
      of: 'Step',
      value: 'Learners',
      rows: [
        { label: 'Invited', value: invited, to: list },
        { label: 'Started', value: begun, to: `${list}?state=opened` },
        { label: 'Finished', value: finished, to: `${list}?state=used` },
      ],
    }),
  };
}

async function reviewsPart({ app, base, organisationId }: Visit, visibility: Visibility): Promise<Part> {
  const nowMs = app.clock.nowMs();
  const ends = [0, 7, lately].map((days) => new Date(nowMs - days * dayMs));
  const found = await countByAge(app.db, organisationId, { visibility, ends, max: maxReviews });
  const sum = found.reduce((total, one) => total + one, 0);
  const ages = ['Up to 7 days', `8 to ${lately} days`, `Over ${lately} days`];
  const words = (value: number) => (value > maxReviews ? `${number(maxReviews)}+` : number(value));
  const rows = ages.map((label, i) => ({ label, value: Math.min(found[i]!, maxReviews + 1), to: `${base}/review` }));
  const total = found.some((one) => one > maxReviews) ? maxReviews + 1 : sum;
  return {
    figure: figure('Reviews waiting', words(total), `${words(found[2]!)} for over ${lately} days`),
    chart: sum > 0 && barChart({ caption: 'Reviews waiting, by age', of: 'Age', value: 'Reviews', rows, words }),
  };
}

async function creditsPart({ app, base, organisationId: id, zone }: Visit): Promise<Part> {
  const { plan, credits } = await readOrganisation(app.db, id);
  if (!hasCountedCredits(plan)) return null;
  const { balances, used, endsAt } = await readCreditOutlook(app.db, id, app.clock.nowMs(), trendWeeks);
  const estimate = endsAt === null ? 'No estimate yet' : html`Estimate: until ${day(endsAt, zone)}`;
  const values = balances.map((one) => one.balance);
  return {
    figure: figure('Credits left', number(credits), estimate, values),
    chart: columnChart({
      caption: `Credits by week. ${number(Math.max(0, used))} were used in ${creditWeeks} weeks, and the estimate takes the same use.`,
      of: 'Week to',
      labels: balances.map((one) => dayWords(one.at, zone).replace(/^(\d+ \w{3})\w* \d+$/, '$1')),
      series: [{ name: 'Credits', values }],
      links: balances.map(() => `${base}/credits`),
    }),
  };
}

async function deliveriesPart({ app, base, organisationId }: Visit): Promise<Part> {
  const rows = await newestOutcomes(app.db, organisationId, perEndpoint);
  if (rows.length === 0) return null;
  const sum = (of: (row: Outcomes) => number) => rows.reduce((total, row) => total + of(row), 0);
  const [succeeded, dead] = [sum((row) => row.succeeded), sum((row) => row.dead)];
  const list = (row: Outcomes, status: string, value: number) =>
    value === 0
      ? '0'
      : html`<a href="${base}/deliveries?endpoint=${row.endpoint_id}&status=${status}">${number(value)}</a>`;
  return {
    figure: figure('Deliveries succeeded', percent(succeeded, succeeded + dead), `${count(dead, 'dead letter')}`),
    chart: html`<figure class="figure across"><figcaption>Delivery health</figcaption><ul class="legend"><li class="s2">Succeeded</li><li class="s0">Waiting</li><li class="s1">Dead letters</li></ul>${table<Outcomes>(
      `The newest ${perEndpoint} deliveries of each webhook endpoint`,
      rows,
      {
        URL: (row) => html`<a href="${base}/webhooks/${row.endpoint_id}">${row.url}</a>`,
        Succeeded: numeric((row) => row.succeeded),
        Waiting: numeric((row) => list(row, 'pending', row.waiting)),
        'Dead letters': numeric((row) => list(row, 'dead', row.dead)),
        Share: { phone: 'plain', cell: (row) => stack([row.waiting, row.dead, row.succeeded]) },
      },
    )}</figure>`,
  };
}

export async function chartsPart(visit: Visit): Promise<Content> {
  const { role } = visit;
  const isReader = learnerReaders.includes(role);
  const visibility = isReader ? await visibilityOf(visit) : [];
  const parts = await Promise.all([
    ...(isReader ? [resultsPart, invitedPart, reviewsPart] : []).map((part) => part(visit, visibility)),
    auditReaders.includes(role) ? creditsPart(visit) : null,
    isReader ? levelsPart(visit, visibility) : null,
    integrators.includes(role) ? deliveriesPart(visit) : null,
  ]);
  const shown = parts.filter((part) => part !== null);
  if (shown.length === 0) return null;
  const figures = shown.flatMap((part) => part.figure ?? []);
  return html`<h2>Overview</h2><ul class="figures">${figures}</ul><div class="charts">${shown.map((part) => part.chart)}</div>`;
}
