// Builds dist/, or the folder that is named, from src/: JavaScript as ECMAScript modules and as CommonJS, each with its declarations.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const folder = import.meta.dirname;
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

const dist = process.argv[2] ?? join(folder, 'dist');

rmSync(dist, { recursive: true, force: true });
for (const [name, type, ...options] of [
  ['esm', 'module', '--module', 'nodenext'],
  ['cjs', 'commonjs', '--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false'],
]) {
  const out = join(dist, name!);
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.json'), '--outDir', out, ...options], {
    stdio: 'inherit',
  });
  // The compiler leaves the declarations' imports as the sources have them.
  for (const file of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = readFileSync(join(out, file), 'utf8');
    writeFileSync(join(out, file), text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
  writeFileSync(join(out, 'package.json'), `${JSON.stringify({ type })}\n`);
}
