import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import type { Command } from '../../kit/command.ts';
import { command } from '../../kit/command.ts';
import { terminal } from '../../kit/terminal.ts';

export const commands: Command[] = [
  command({
    name: 'secret accept',
    summary:
      'Use the database with the present ARS_SECRET after the one before was lost, and with it links and cursors',
    run: async () => {
      const opened = await openApp(
        { ...readSettings(terminal().environment), log: 'none' },
        { acceptSecret: true, mustExist: true },
      );
      await opened.close();
      return {
        json: { accepted: true },
        text: 'The database is used with the present ARS_SECRET from here on. Rotate the secret of every webhook endpoint.',
      };
    },
  }),
];
