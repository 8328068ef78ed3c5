import type { Asked } from './question/review-part.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../platform/app.ts';
import { contentOf } from '../../records/results/body.ts';
import { findLive, findReviews } from '../../records/results/results.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import { WriteQueueRefusal } from '../../platform/db/write-queue.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { readResumedAt } from '../../feed/position.ts';
import { invitationToken, readInvitationToken } from '../../sittings/invitations/invitations.ts';
import { findLearnersByIds, isErased } from '../../records/learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { errorFields } from '../../platform/observability/log.ts';
import {
  holdsNationalInsuranceNumber,
  isPlainLines,
  withoutNationalInsuranceNumbers,
} from '../../platform/validation/personal-data.ts';
import { askForReview } from '../../governance/result-reviews/request.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { stateOf } from '../../organisations/suspension.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import {
  answerQuestion,
  countOutcomes,
  currentQuestion,
  endWhenTimeIsUp,
  keepDraft,
  markSeen,
  pauseSitting,
  resumePaused,
} from '../../sittings/answer.ts';
import { banksOf } from '../../sittings/scoring/banks.ts';
import { finishSitting } from '../../sittings/finish.ts';
import { type Link, isWithdrawn, openLink } from '../../sittings/link.ts';
import { openResultLink, organisationOfResultToken, resultLinkMs, resultToken } from '../../sittings/result-link.ts';
import { fewAnswers } from '../../sittings/scoring/engagement-flags.ts';
import { begunElsewhere, startSitting } from '../../sittings/start.ts';
import { findRepeated } from '../../sittings/scoring/repeated.ts';
import { maxPilotsOf } from '../../sittings/selection/pilot.ts';
import type { Client, SittingRow } from '../../sittings/store.ts';
import { idleEnd, remainingMs } from '../../sittings/working-time.ts';
import { registerAssets } from '../../platform/html/assets.ts';
import { assets } from './layout.ts';
import { clientOf } from './client.ts';
import { type Sent, readForm, takeForms } from './form.ts';
import type { Help } from './layout.ts';
import { helpOf, knownHelp } from './layout.ts';
import type { Page } from './layout.ts';
import { documentOf, errorPage, pageHeaders } from './layout.ts';
import type { Closing } from './question/review-part.ts';
import type { Names } from './pages.ts';
import { checkPage, closingPage, pausedPage, resultPage, startCodePage, waitPage, welcomePage } from './pages.ts';
import { practicePage, practised } from './question/practice.ts';
import { questionPage, skipPage } from './question/question-page.ts';
import { isSetByPerson, resultWords } from './words.ts';

/** A page or a redirect. Redirects have status 303, so that reloading the next page does not send the form again. */
type Answered = { status?: number; page: Page } | { to: string };

const says = (status: number, title: string, ...paragraphs: string[]): Answered => ({
  status,
  page: errorPage(title, ...paragraphs),
});

const unknownLink = says(
  404,
  'We can’t open this link',
  'Check that you have opened the full link, just as it was sent to you.',
  'If it still does not work, ask your provider for a new one.',
);

/** @property refused true if the start code was wrong */
type Visit = { app: App; base: string; link: Link; sent: Sent; refused: boolean; client: Client };

type Handle = (token: string, request: FastifyRequest) => Promise<Answered>;
type On = (method: 'GET' | 'POST', path: string, handler: Handle) => void;

/** @param organisationOf the organisation of a token; null if the token is not valid */
function linkPages(
  app: App,
  fastify: FastifyInstance,
  prefix: string,
  organisationOf: (token: string) => number | null,
  declare: (on: On) => void,
): void {
  const pages = async (scope: FastifyInstance) => {
    takeForms(scope, (token) => organisationOf(token) !== null);
    scope.addHook('onRequest', async (request) => {
      // The log contains the route's pattern in place of the URL, because the token is a secret.
      request.action = `${request.method} ${(request.routeOptions.url ?? prefix).replace(':token', '{link}')}`;
    });
    scope.setErrorHandler((error: Failure, request, reply) => {
      const { token = '' } = request.params as { token?: string };
      const organisationId = organisationOf(token);
      // The database may be down, so only the cached contact is shown.
      const help = organisationId === null ? null : knownHelp(app, organisationId);
      return send(reply, failure(app, error, request, reply), help);
    });
    scope.setNotFoundHandler((_request, reply) => send(reply, unknownLink));
    declare((method, path, handler) =>
      scope.route({
        method: method === 'GET' ? ['GET', 'HEAD'] : ['POST'],
        url: `/:token${path}`,
        handler: async (request, reply) => {
          const { token } = request.params as { token: string };
          const organisationId = organisationOf(token);
          const state = organisationId === null ? 'gone' : await stateOf(app.db, organisationId);
          const help = state === 'gone' ? null : await helpOf(app, organisationId!);
          if (state !== 'suspended') return send(reply, await handler(token, request), help);
          const closed = says(
            403,
            'Assessments are closed at the moment',
            'Your provider’s assessments and results can’t be opened now. What you have answered is kept. Ask your provider when they open again.',
          );
          return send(reply, closed, help);
        },
      }),
    );
  };
  void fastify.register(pages, { prefix });
}

const warmUpAfterMs = 2000;

export function registerPlayer(app: App, fastify: FastifyInstance): void {
  registerAssets(fastify, Object.values(assets));
  // Loading the item bank takes half a second of CPU. It is loaded soon after the start, so that no learner waits.
  let warmUp: NodeJS.Timeout | undefined;
  fastify.addHook('onListen', async () => {
    warmUp = setTimeout(() => {
      try {
        banksOf(app).current();
      } catch (error) {
        app.log.error('bank.not_ready', errorFields(error));
      }
    }, warmUpAfterMs).unref();
  });
  fastify.addHook('onClose', async () => clearTimeout(warmUp));
  const ofInvitation = (token: string) => readInvitationToken(app.secrets, token)?.organisationId ?? null;
  linkPages(app, fastify, '/a', ofInvitation, (onLink) => {
    const on = (method: 'GET' | 'POST', path: string, handler: (visit: Visit) => Promise<Answered>) =>
      onLink(method, path, async (token, request) => {
        const link = await openLink(app, token);
        if (link === null) return deadLink(app, token);
        // The script sends HEAD while the page is open, even if the learner is away, so HEAD is not activity.
        if (request.method !== 'HEAD' && link.open !== null) await markSeen(app, link.open);
        const refused = request.url.endsWith('?refused');
        const client = clientOf(request.headers);
        return handler({ app, base: `/a/${token}`, link, sent: readForm(request.body), refused, client });
      });
    on('GET', '', home);
    // Email programs add a slash to a link. Browsers send GET to the URL of a form when they restore a tab.
    for (const path of ['/', '/continue', '/finish']) on('GET', path, async ({ base }) => ({ to: base }));
    on('GET', '/start', beforeStart);
    on('POST', '/start', begin);
    on('GET', '/practice', ({ base, link }) => practice(base, link, practicePage));
    on('POST', '/practice', ({ base, link, sent }) =>
      practice(base, link, (at, subject) => practised(at, subject, sent.answer)),
    );
    on('GET', '/question', question);
    on('POST', '/question', answer);
    on('POST', '/continue', async ({ app, base, link }) => {
      if (link.open !== null) await resumePaused(app, link.open);
      return { to: base };
    });
    on('GET', '/check', check);
    on('POST', '/finish', finish);
  });
  linkPages(
    app,
    fastify,
    '/result',
    (token) => organisationOfResultToken(app, token),
    (on) => {
      on('GET', '', (token) => result(app, token));
      on('POST', '', (token, request) => ask(app, token, readForm(request.body)));
    },
  );
}

function send(reply: FastifyReply, answered: Answered, help: Help | null = null): FastifyReply {
  reply.headers(pageHeaders);
  return 'to' in answered
    ? reply.code(303).header('location', answered.to).send('')
    : reply.code(answered.status ?? 200).send(documentOf(answered.page, help));
}

async function result(app: App, token: string, again: Asked['again'] = null): Promise<Answered> {
  const sitting = await openResultLink(app, token);
  if (sitting === null) return unknownLink;
  if (sitting === 'expired')
    return says(
      410,
      'This link has expired',
      'Results can be read here for a year. Your provider can tell you your result after that.',
    );
  const page = resultPage(
    await closingOf(app, sitting),
    await namesOf(app, sitting),
    sitting.finished_at!.getTime() + resultLinkMs,
    {
      address: `/result/${token}`,
      reviews: await findReviews(app.db, sitting.organisation_id, sitting.assessment_id!),
      nowMs: app.clock.nowMs(),
      again,
    },
  );
  return again === null ? { page } : { status: 422, page };
}

/** Asks for a human review. Asking twice changes nothing. */
async function ask(app: App, token: string, sent: Sent): Promise<Answered> {
  const sitting = await openResultLink(app, token);
  if (sitting === null || sitting === 'expired') return result(app, token);
  const { text = '' } = sent.answer;
  const request = (typeof text === 'string' ? text : '').replaceAll('\r\n', '\n').trim();
  if (request !== '' && !isPlainLines(request, limits.reviewTextChars))
    return result(app, token, {
      text: request.slice(0, limits.reviewTextChars),
      problem: `Write up to ${limits.reviewTextChars} characters of plain text`,
    });
  if (holdsNationalInsuranceNumber(request))
    return result(app, token, {
      text: withoutNationalInsuranceNumbers(request),
      problem: 'Take the National Insurance number out: it is not kept here',
    });
  await withUnitOfWork(app, feedQueue(sitting.organisation_id), (work) => askForReview(work, sitting, request));
  return { to: `/result/${token}` };
}

/** Shows the page that fits the state of the sitting. Pages that do not fit the state redirect here. */
async function home({ app, base, link }: Visit): Promise<Answered> {
  const { open } = link;
  if (open !== null) {
    if (open.stop !== null) return { to: `${base}/check` };
    if (open.on_screen_since !== null) return { to: `${base}/question` };
    const resumedAt = await readResumedAt(app.db, open.organisation_id);
    return { page: pausedPage(base, open, idleEnd(open.last_seen_at, resumedAt)) };
  }
  if (!link.readable)
    return says(
      410,
      'This link has expired',
      'Links to assessments work for a limited time. Please ask your provider for a new one.',
    );
  const names = await namesOf(app, link.invitation);
  const { last } = link;
  if (last === null && link.wait !== null) return { page: waitPage(link, names) };
  if (last === null) return { page: welcomePage(base, link, names, await pilotsOf(app, link)) };
  const earlier: { subject: Subject; level: string; address: string }[] = [];
  for (const { subject, sitting } of link.subjects) {
    if (sitting?.status !== 'completed' || sitting === last) continue;
    const closing = await closingOf(app, sitting);
    if (closing.kind === 'result')
      earlier.push({ subject, level: resultWords(closing.content).level, address: closing.address });
  }
  return { page: closingPage(base, link, await closingOf(app, last), earlier, names) };
}

/** The most questions on trial that the link's next sitting can have. */
async function pilotsOf(app: App, { invitation, next }: Link): Promise<number> {
  const organisation = await readOrganisation(app.db, invitation.organisation_id);
  return maxPilotsOf(banksOf(app).current().pools[next!], organisation);
}

const addressUnder = (app: App, { invitation }: Link, invitationId: string) =>
  `/a/${invitationToken(app.secrets, invitation.organisation_id, invitationId)}`;

/** After a redirect the script loads the form's URL, so the code form is sent to the URL that shows its error. */
async function begin({ app, base, link, sent, refused }: Visit): Promise<Answered> {
  const code = typeof sent.answer.code === 'string' ? sent.answer.code : '';
  // Forms without a subject are accepted. A form for another subject, from an old tab, is not.
  if (!['', link.next].includes(sent.get('subject'))) return { to: base };
  const under = await startSitting(app, link, code);
  if (under === null) return { to: `${base}/start${code !== '' || refused ? '?refused' : ''}` };
  return { to: addressUnder(app, link, under) };
}

/** Redirects to a sitting that began under another link; otherwise asks for the start code if one is needed. */
async function beforeStart({ app, base, link, refused }: Visit): Promise<Answered> {
  const under = await begunElsewhere(app, link);
  if (under !== null) return { to: addressUnder(app, link, under) };
  const waits = link.invitation.start_code && link.open === null && link.next !== null && !link.expired;
  return waits ? { page: startCodePage(base, link, refused) } : { to: base };
}

async function practice(base: string, link: Link, page: (base: string, subject: Subject) => Page): Promise<Answered> {
  if (link.open !== null || link.next === null || link.expired) return { to: base };
  return { page: page(base, link.next) };
}

async function question({ app, base, link: { open } }: Visit): Promise<Answered> {
  if (open === null || open.stop !== null || open.on_screen_since === null) return { to: base };
  if (remainingMs(open, app.clock.nowMs()) <= 0) {
    await endWhenTimeIsUp(app, open);
    return { to: base };
  }
  const current = await currentQuestion(app, open);
  return current === null ? { to: base } : { page: questionPage(base, open, current, app.clock.nowMs()) };
}

async function answer({ app, base, link: { open }, sent, client }: Visit): Promise<Answered> {
  const position = Number(sent.get('position'));
  // A form in an old tab, from another sitting, must not answer this question.
  if (open === null || sent.get('sitting') !== open.sitting_id || !Number.isInteger(position)) return { to: base };
  const answered = { position, answer: sent.answer };
  switch (sent.get('do')) {
    case 'pause':
      await pauseSitting(app, open, answered);
      return { to: base };
    case 'skip':
      return (await keepDraft(app, open, answered)) ? { page: skipPage(base, open, position) } : { to: base };
  }
  const outcome = await answerQuestion(app, open, { ...answered, skip: sent.get('do') === 'skip-now', client });
  switch (outcome.kind) {
    case 'taken':
      return { to: `${base}/question` };
    case 'late':
    case 'time_up':
      return { to: base };
    case 'unanswered':
      return { page: skipPage(base, open, position) };
    case 'unreadable': {
      const current = await currentQuestion(app, open);
      if (current === null || current.position !== position) return { to: base };
      return {
        status: 422,
        page: questionPage(base, open, current, app.clock.nowMs(), { answer: sent.answer, problem: outcome.problem }),
      };
    }
  }
}

async function check({ app, base, link }: Visit): Promise<Answered> {
  const { open } = link;
  if (open === null || open.stop === null) return { to: base };
  return { page: checkPage(base, open, await countOutcomes(app, open), await namesOf(app, link.invitation)) };
}

async function finish({ app, base, link, sent }: Visit): Promise<Answered> {
  const { open } = link;
  if (open === null || open.stop === null || sent.get('sitting') !== open.sitting_id) return { to: base };
  if (sent.answer.own !== 'yes')
    return {
      status: 422,
      page: checkPage(base, open, await countOutcomes(app, open), await namesOf(app, link.invitation), true),
    };
  await finishSitting(app, open, null);
  return { to: base };
}

async function namesOf(app: App, whose: { organisation_id: number; learner_id: string }): Promise<Names> {
  const [organisation, [learner]] = await Promise.all([
    readOrganisation(app.db, whose.organisation_id),
    findLearnersByIds(app.db, whose.organisation_id, [whose.learner_id]),
  ]);
  // An erased learner has no name.
  return { learner: learner?.full_name ?? '', organisation: organisation.name };
}

async function closingOf(app: App, sitting: SittingRow): Promise<Closing> {
  const subject: Subject = sitting.subject;
  if (sitting.assessment_id === null) return { kind: 'void', subject };
  const live = await findLive(app.db, sitting.organisation_id, sitting.assessment_id);
  if (live === undefined) {
    const wasErased = await isErased(app.db, sitting.organisation_id, sitting.learner_id);
    return { kind: wasErased ? 'erased' : 'removed', subject };
  }
  const content = contentOf(live.body, live.assessed_at);
  const repeated = await findRepeated(app.db, sitting.organisation_id, sitting.assessment_id);
  const scored = JSON.parse(sitting.result!) as ScoredResult;
  return {
    kind: 'result',
    subject,
    content,
    byPerson: isSetByPerson(content, scored),
    address: `/result/${resultToken(app, sitting)}`,
    unfinished: sitting.declared_at === null,
    few: fewAnswers(sitting, scored.counts.answered) !== null,
    repeated,
    assessedMs: sitting.finished_at!.getTime(),
  };
}

async function deadLink(app: App, token: string): Promise<Answered> {
  return (await isWithdrawn(app, token))
    ? says(
        410,
        'This link has been cancelled',
        'Your provider has taken this invitation back. It can’t be begun or carried on any more.',
        'Ask your provider if you did not expect this.',
      )
    : unknownLink;
}

type Failure = Error & { statusCode?: number; status?: number };

function failure(app: App, error: Failure, request: FastifyRequest, reply: FastifyReply): Answered {
  if (error instanceof DatabaseUnavailable || error instanceof WriteQueueRefusal) {
    const [event, why] =
      error instanceof WriteQueueRefusal ? ['change.refused', error.why] : ['database.unavailable', error.code];
    app.log.error(event, { request_id: request.id, why });
    reply.header('retry-after', '10');
    return says(
      503,
      'Please try again in a minute',
      'We could not reach our records just now. Your answers so far are safe. Go back and try again.',
    );
  }
  const status = error.status ?? error.statusCode ?? 500;
  if (status >= 400 && status < 500)
    return says(status, 'We could not read that', 'Go back and try again. Your answers so far are safe.');
  app.log.error('request.failed', { request_id: request.id, action: request.action, ...errorFields(error) });
  return says(
    500,
    'Something went wrong',
    'It is not your fault, and your answers so far are safe. Go back and try again. If it happens again, tell your provider.',
  );
}
