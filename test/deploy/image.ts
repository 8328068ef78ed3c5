import { read } from '../support/structure/source-tree.ts';

const dockerfile = read('deploy/Dockerfile').replaceAll(/^#.*\n/gm, '');
export const stages = dockerfile.split(/^FROM /m).slice(1);
/** What the image has of the source's top folder. */
export const shipped = [
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'],
  ...['cli', 'client', 'docs', 'examples', 'package-lock.json', 'package.json', 'src', 'tools'],
];
export const lineOf = (stage: string, word: string) => new RegExp(`^${word} (.*)$`, 'm').exec(stage)?.[1];

/** What .dockerignore names: a pattern holds for what is below it, too, and the last that fits decides. */
const dockerignore = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const inside = line.replace('!', '').replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
    const pattern = inside.replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
    return { sent: line.startsWith('!'), fits: new RegExp(`^${pattern}(?:/|$)`) };
  });

/** Whether an engine sends it to where the image is built. */
export const isSent = (path: string): boolean => dockerignore.findLast(({ fits }) => fits.test(path))?.sent ?? true;
