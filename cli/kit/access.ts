import { apiAddress } from '../../client/src/client.ts';
import { Misuse } from './command.ts';
import { terminal } from './terminal.ts';

export type Access = { baseUrl: string; accessKeyId: string; secretAccessKey: string };

/**
 * Reads the URL and access key for `--api`. The secret comes from the environment, because other users can see command
 * lines and shell histories keep them.
 * @throws Misuse
 */
export function accessOf(options: { api: string; accessKeyId?: string | undefined }): Access {
  const { ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = terminal().environment;
  const { api, accessKeyId = ACCESS_KEY_ID } = options;
  if (accessKeyId === '' || SECRET_ACCESS_KEY === '')
    throw new Misuse(
      'the environment must hold ACCESS_KEY_ID and SECRET_ACCESS_KEY, an access key of the organisation',
    );
  if (![accessKeyId, SECRET_ACCESS_KEY].every((text) => /^[\x21-\x7e]+$/.test(text)))
    throw new Misuse('an access key has no spaces or line breaks');
  try {
    return { baseUrl: apiAddress(api), accessKeyId, secretAccessKey: SECRET_ACCESS_KEY };
  } catch (error) {
    throw new Misuse((error as Error).message.replace('baseUrl', '--api'));
  }
}
