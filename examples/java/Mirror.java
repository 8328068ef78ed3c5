import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Keeps the service's results in a file of NDJSON, a record on each line, with Java's standard library alone (17 and later).
 *
 *   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… java Mirror.java results.ndjson
 *
 * Run it once a minute. The file is replaced as a whole, and the checkpoint after it: killed at any time, the next run reads some
 * results again and loses none.
 */
public final class Mirror {
    private static final int ATTEMPTS = 8;
    private static final int RESTORES = 3;
    private static final Set<Integer> PASSING = Set.of(429, 500, 502, 503, 504);

    private final String api = environment("API").replaceAll("/+$", "");
    private final String keyId = environment("ACCESS_KEY_ID");
    private final String secret = environment("SECRET_ACCESS_KEY");
    // The key pair must not follow a redirect to wherever it leads.
    private final HttpClient http =
        HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).connectTimeout(Duration.ofSeconds(10)).build();
    private final Path file;
    private final Path checkpointFile;

    private Mirror(Path file) {
        this.file = file.toAbsolutePath();
        this.checkpointFile = this.file.resolveSibling(this.file.getFileName() + ".checkpoint");
    }

    /** Where the next walk begins: two lines of a file of its own. */
    private record Checkpoint(String since, String etag) {}

    /** A page, or null for 304, with the reply's headers. */
    private record Reply(Map<String, Json.Value> page, HttpHeaders headers) {}

    /** The service was restored from a backup: the walk starts again without since, and replaces what is held. */
    private static final class Restored extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /** What is kept of a result. */
    private record Result(String updatedAt, String line) {}

    public static void main(String[] arguments) throws Exception {
        new Mirror(Path.of(arguments.length > 0 ? arguments[0] : "results.ndjson")).run();
    }

    private void run() throws Exception {
        Checkpoint checkpoint = null;
        if (Files.exists(checkpointFile) && Files.exists(file)) {
            List<String> lines = Files.readAllLines(checkpointFile);
            checkpoint = new Checkpoint(lines.get(0), lines.get(1));
        }
        Map<String, Result> results = null;
        for (int restores = 0; results == null; restores++) {
            try {
                results = walk(checkpoint == null ? new LinkedHashMap<>() : read(), checkpoint);
                if (results == null) {
                    System.out.println(read().size() + " results, nothing has changed");
                    return;
                }
                // Where the digests differ, a walk through everything replaces what was held.
                if (!isProven(results)) results = walk(new LinkedHashMap<>(), null);
            } catch (Restored again) {
                if (restores == RESTORES)
                    throw new IllegalStateException("the service was restored again and again; try again when that is over");
                results = null;
                checkpoint = null;
            }
        }
        System.out.println(results.size() + " results" + (isProven(results) ? ", the service's digest is this file's" : ""));
    }

    /** What the last page of the walk said, and null where the service sends no digest. */
    private String served;

    private boolean isProven(Map<String, Result> results) throws Exception {
        return served == null || served.equals(digest(results));
    }

    /** Reads a walk to its end, applies it, and stores results and then checkpoint; null where nothing has changed. */
    private Map<String, Result> walk(Map<String, Result> results, Checkpoint from) throws Exception {
        String query = "?limit=500" + (from == null ? "" : "&since=" + from.since());
        Reply reply = get(query, from == null ? null : from.etag());
        if (from != null) refuseRestored(reply, from.since());
        if (reply.page() == null) return null;
        // Of the first page: what changes while the walk is on its way comes with the next one.
        String since = reply.headers().firstValue("X-Sync-Through").orElseThrow();
        String etag = reply.headers().firstValue("ETag").orElseThrow();
        while (true) {
            for (Json.Value entry : reply.page().get("data").list()) {
                Map<String, Json.Value> fields = entry.object();
                String id = fields.get("assessment_id").text();
                boolean isResult = fields.containsKey("status") && fields.get("status").text().equals("completed");
                // Tombstones say that a result was withdrawn, scope exits that it left a filter by group.
                if (isResult) results.put(id, new Result(fields.get("updated_at").text(), entry.raw()));
                else results.remove(id);
            }
            Json.Value next = reply.page().get("pagination").object().get("next");
            if (next.isNull()) break;
            // Only the query is taken, so that the key pair never goes to another host.
            reply = get("?" + URI.create(next.text()).getRawQuery(), null);
            refuseRestored(reply, since);
        }
        served = reply.headers().firstValue("X-Sync-Digest").orElse(null);
        replace(file, results.values().stream().map(Result::line).toList());
        replace(checkpointFile, List.of(since, etag));
        return results;
    }

    /** Refuses a reply of a service that was restored to before the instant that a walk, or its checkpoint, began with. */
    private static void refuseRestored(Reply reply, String start) throws Restored {
        String restored = reply.headers().firstValue("X-Sync-Restored").orElse("");
        String through = reply.headers().firstValue("X-Sync-Through").orElse(start);
        if (restored.compareTo(start) > 0 || through.compareTo(start) < 0) throw new Restored();
    }

    /** Asks for a page. What may pass is asked again, never before Retry-After is over. */
    private Reply get(String query, String etag) throws Exception {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            double wait = Math.min(20, Math.pow(2, attempt) / 2) * ThreadLocalRandom.current().nextDouble(0.5, 1);
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(api + "/assessments" + query))
                .timeout(Duration.ofSeconds(30)).header("X-Access-Key-Id", keyId).header("X-Secret-Access-Key", secret);
            if (etag != null) request.header("If-None-Match", etag);
            try {
                HttpResponse<String> reply = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
                if (reply.statusCode() == 304) return new Reply(null, reply.headers());
                if (reply.statusCode() == 200) return new Reply(Json.read(reply.body()).object(), reply.headers());
                if (reply.statusCode() == 400 && reply.body().contains("\"invalid_cursor\"")) throw new Restored();
                if (!PASSING.contains(reply.statusCode())) {
                    String id = reply.headers().firstValue("X-Request-Id").orElse("none");
                    throw new IllegalStateException("refused: " + reply.statusCode() + " " + reply.body() + " (request " + id + ")");
                }
                // A proxy may say it as a date.
                String told = reply.headers().firstValue("Retry-After").filter(text -> text.matches("[0-9]{1,6}")).orElse("0");
                wait = Math.max(wait, Integer.parseInt(told));
            } catch (IOException passing) {
                // The connection ended, or the reply was cut off.
            }
            Thread.sleep((long) (wait * 1000));
        }
        throw new IllegalStateException("the service does not answer; nothing is lost, the next run goes on");
    }

    /** How many results there are, and the sums of two words of SHA-256(id, updated_at in milliseconds). */
    private static String digest(Map<String, Result> results) throws Exception {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        int one = 0;
        int two = 0;
        for (Map.Entry<String, Result> entry : results.entrySet()) {
            sha256.update(HexFormat.of().parseHex(entry.getKey().replace("-", "")));
            long millis = Instant.parse(entry.getValue().updatedAt()).toEpochMilli();
            ByteBuffer hash = ByteBuffer.wrap(sha256.digest(ByteBuffer.allocate(8).putLong(millis).array()));
            // An int overflows as the sums do: modulo 2^32.
            one += hash.getInt();
            two += hash.getInt();
        }
        return "n=" + results.size() + ";w1=" + Integer.toUnsignedString(one) + ";w2=" + Integer.toUnsignedString(two);
    }

    private Map<String, Result> read() throws IOException {
        Map<String, Result> results = new LinkedHashMap<>();
        for (String line : Files.readAllLines(file)) {
            Map<String, Json.Value> fields = Json.read(line).object();
            results.put(fields.get("assessment_id").text(), new Result(fields.get("updated_at").text(), line));
        }
        return results;
    }

    /** The new file stands on the disk before it takes the place of the old one. */
    private static void replace(Path path, List<String> lines) throws IOException {
        Path beside = path.resolveSibling(path.getFileName() + ".new");
        Files.write(beside, lines);
        try (FileChannel channel = FileChannel.open(beside, StandardOpenOption.WRITE)) {
            channel.force(true);
        }
        Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static String environment(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) throw new IllegalStateException("the environment must hold " + name);
        return value;
    }

    /** Java has no reader of JSON of its own; a few lines are enough. With a library in your project, use that. */
    private static final class Json {
        /** A value, and the text that it came as. */
        record Value(Object value, String raw) {
            boolean isNull() { return value == null; }
            String text() { return (String) value; }
            @SuppressWarnings("unchecked")
            Map<String, Value> object() { return (Map<String, Value>) value; }
            @SuppressWarnings("unchecked")
            List<Value> list() { return (List<Value>) value; }
        }

        private final String source;
        private int at;

        private Json(String source) {
            this.source = source;
        }

        static Value read(String source) throws IOException {
            try {
                return new Json(source).value();
            } catch (RuntimeException cut) {
                throw new IOException("the reply is not whole", cut);
            }
        }

        private Value value() {
            skip();
            int from = at;
            Object value = switch (source.charAt(at)) {
                case '{' -> object();
                case '[' -> list();
                case '"' -> string();
                default -> word();
            };
            return new Value(value, source.substring(from, at));
        }

        private Map<String, Value> object() {
            Map<String, Value> fields = new LinkedHashMap<>();
            at++;
            while (!passes('}')) {
                passes(',');
                skip();
                String name = string();
                if (!passes(':')) throw new IllegalArgumentException("a colon is missing");
                fields.put(name, value());
            }
            return fields;
        }

        private List<Value> list() {
            List<Value> values = new ArrayList<>();
            at++;
            while (!passes(']')) {
                passes(',');
                values.add(value());
            }
            return values;
        }

        private String string() {
            StringBuilder text = new StringBuilder();
            if (source.charAt(at++) != '"') throw new IllegalArgumentException("a text is missing");
            for (char one = source.charAt(at++); one != '"'; one = source.charAt(at++)) {
                if (one != '\\') {
                    text.append(one);
                    continue;
                }
                char escaped = source.charAt(at++);
                switch (escaped) {
                    case 'b' -> text.append('\b');
                    case 'f' -> text.append('\f');
                    case 'n' -> text.append('\n');
                    case 'r' -> text.append('\r');
                    case 't' -> text.append('\t');
                    case 'u' -> {
                        text.append((char) Integer.parseInt(source, at, at + 4, 16));
                        at += 4;
                    }
                    default -> text.append(escaped);
                }
            }
            return text.toString();
        }

        /** true, false, null, or a number, which stays as it is written. */
        private Object word() {
            int from = at;
            while (at < source.length() && ",]} \n\r\t".indexOf(source.charAt(at)) < 0) at++;
            String word = source.substring(from, at);
            if (word.isEmpty()) throw new IllegalArgumentException("a value is missing");
            return word.equals("null") ? null : word.equals("true") || word.equals("false") ? (Object) word.equals("true") : word;
        }

        private boolean passes(char wanted) {
            skip();
            if (source.charAt(at) != wanted) return false;
            at++;
            return true;
        }

        private void skip() {
            while (Character.isWhitespace(source.charAt(at))) at++;
        }
    }
}
