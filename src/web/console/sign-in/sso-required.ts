import type { Candidate } from '../../../organisations/users/single-sign-on.ts';
import {
  countUnconnected,
  findProvider,
  liftRequirement,
  listCandidates,
  requireProvider,
} from '../../../organisations/users/single-sign-on.ts';
import { lockFeed } from '../../../feed/position.ts';
import type { Faults } from '../kit/form.ts';
import { confirmPage, messagePage } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes, post } from '../kit/route.ts';
import { tryProvider } from '../../../integrations/identity-provider.ts';

/** An organisation may accept no sign-in but its identity provider's. One emergency owner keeps a password. */
export const ssoRequiredRoutes: ConsoleRoute[] = [
  ...formRoutes('/sso/require', ['owner'], (visit) => show(visit), require, { live: true, proof: true }),
  post('/sso/lift', ['owner'], lift, { live: true, proof: true }),
];

async function show(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, session } = visit;
  const provider = await findProvider(app.db, app.keyring, id);
  const back = { to: `${base}/sso`, label: 'Single sign-on' };
  if (provider?.required === true)
    return confirmPage(visit, {
      title: 'Stop requiring single sign-on?',
      back,
      to: `${base}/sso/lift`,
      says: [
        'Old passwords do not work again. Each person who needs a password needs a new link from the page People.',
      ],
      button: 'Stop requiring single sign-on',
    });
  const title = 'Require single sign-on?';
  if (provider === undefined) return { ...messagePage(title, 'Set up the identity provider first.'), back };
  // The owner's own session shows that the identity provider works.
  if (session.sso_organisation_id !== id)
    return {
      ...messagePage(title, 'Sign out, sign in through the identity provider, and open this page again.'),
      back,
    };
  const owners = await listCandidates(app.db, id);
  if (owners.length === 0)
    return { ...messagePage(title, 'First, one owner needs a password and a second factor, for an emergency.'), back };
  const count = await countUnconnected(app.db, id, provider.issuer);
  return confirmPage(visit, {
    title,
    back,
    faults,
    says: [
      'People then sign in to this organisation only through the identity provider. Their passwords and second factors are deleted, and sessions that began with a password end now. No link for a new password is sent.',
      `${count === 1 ? '1 person has' : `${count} people have`} not yet signed in there. Each of them needs a new link from the page People.`,
    ],
    button: 'Require single sign-on',
    fields: (f) =>
      f.choose('owner', 'Emergency owner', choicesOf(owners), {
        hint: 'Keeps a password and a second factor, for days when the identity provider fails.',
      }),
  });
}

const choicesOf = (owners: Candidate[]) => owners.map((one) => ({ value: one.user_id, label: one.full_name }));

async function require(visit: Visit): Promise<Answer> {
  const { app, base, organisation, organisationId: id, session, form, change } = visit;
  const provider = await findProvider(app.db, app.keyring, id);
  if (provider === undefined || provider.required || session.sso_organisation_id !== id) return show(visit);
  const owner = form.raw('owner');
  const owners = await listCandidates(app.db, id);
  if (!owners.some((one) => one.user_id === owner)) return show(visit, { owner: 'Choose the emergency owner.' });
  if ((await tryProvider(app, provider)) !== null)
    return show(visit, { owner: 'The identity provider does not answer. Nothing was changed. Try again in a minute.' });
  const isDone = await change(
    async (work) => {
      await lockFeed(work, id);
      return requireProvider(work, id, owner);
    },
    (done) => done && organisation.public_id,
  );
  return isDone ? { to: `${base}/sso?did=required` } : show(visit);
}

async function lift({ base, organisation, organisationId: id, change }: Visit): Promise<Answer> {
  await change(
    (work) => liftRequirement(work, id),
    (done) => done && organisation.public_id,
  );
  return { to: `${base}/sso?did=lifted` };
}
