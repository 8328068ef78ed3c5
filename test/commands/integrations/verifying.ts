import { ars } from '../../support/ars.ts';

export type Called = { code: number; said: string; json: any };

/** `ars verify-sync` as the command line runs it, in this process. */
export async function verifySync(environment: Record<string, string>, ...words: string[]): Promise<Called> {
  Object.assign(process.env, environment);
  const { code, said, json = null } = await ars(['verify-sync', ...words, '--json']);
  return { code, said: json === null ? said.replace(/^ars: |\n$/g, '') : '', json };
}
