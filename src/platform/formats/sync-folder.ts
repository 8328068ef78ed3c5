import { open } from 'node:fs/promises';

/** A file that was made or renamed is only there after a loss of power once its folder is on the disk. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // One above that may be written to, but not read.
    if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error;
    return null;
  });
  if (folder === null) return;
  try {
    await folder.sync();
  } catch (error) {
    // Not every file system can, such as some of a network.
    if (!['EINVAL', 'ENOTSUP', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}
