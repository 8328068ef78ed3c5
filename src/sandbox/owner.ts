import { pick } from '../platform/crypto/random.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { createAccount, findAccounts } from '../organisations/users/accounts.ts';
import { addMember } from '../organisations/users/members.ts';
import { giveSecondFactor } from '../organisations/users/second-factor.ts';
import { makeTotpSecret } from '../organisations/users/totp.ts';

export type SandboxOwner = { email: string; password: string; totp_secret: string };

const email = 'owner@sandbox.example';
const words =
  'amber birch cedar delta ember fjord grove heron ivory jetty kelp larch maple north ochre pearl quartz reed slate tidal umber vivid willow zephyr';

export function makeOwner(work: Pick<UnitOfWork, 'random'>): SandboxOwner {
  const list = words.split(' ');
  const password = `${Array.from({ length: 4 }, () => pick(work.random, list)).join('-')}-${work.random.bytes(3).toString('hex')}`;
  return { email, password, totp_secret: makeTotpSecret(work.random) };
}

export async function ensureOwner(
  work: UnitOfWork,
  organisationId: number,
  owner: SandboxOwner,
  hashed: string,
): Promise<void> {
  if ((await findAccounts(work.tx, owner.email)).length > 0) return;
  const userId = await createAccount(work, { email: owner.email, fullName: 'Olive Owner', password: hashed });
  await addMember(work, organisationId, userId, 'owner');
  await giveSecondFactor(work, userId, owner.totp_secret);
}
