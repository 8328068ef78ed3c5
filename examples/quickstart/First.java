import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * Prints the level and the learner reference of 10 results (Java 17 and later).
 *   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… java First.java
 */
public final class First {
    public static void main(String[] arguments) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("API") + "/assessments?limit=10&status=completed"))
            .header("X-Access-Key-Id", System.getenv("ACCESS_KEY_ID"))
            .header("X-Secret-Access-Key", System.getenv("SECRET_ACCESS_KEY"))
            .build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) throw new IllegalStateException(response.body());

        Map<?, ?> page = (Map<?, ?>) read(TOKEN.matcher(response.body()).results().iterator());
        for (Object entry : (List<?>) page.get("data")) {
            Map<?, ?> result = (Map<?, ?>) entry;
            Map<?, ?> learner = (Map<?, ?>) result.get("learner");
            System.out.println(textOf(result.get("rqf_level")) + " " + textOf(learner.get("ref")));
        }
    }

    private static String textOf(Object value) {
        return value == null ? "-" : value.toString();
    }

    // Java has no JSON reader of its own, so this one reads the few parts of JSON that are needed. In a project of yours, use a library.
    private static final Pattern TOKEN = Pattern.compile("\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"|[{}\\[\\]]|[^\\s{}\\[\\],:\"]+");
    private static final Object END = new Object();

    private static Object read(Iterator<MatchResult> tokens) {
        MatchResult token = tokens.next();
        if (token.group(1) != null) return token.group(1);
        switch (token.group()) {
            case "{":
                Map<Object, Object> fields = new HashMap<>();
                for (Object name = read(tokens); name != END; name = read(tokens)) fields.put(name, read(tokens));
                return fields;
            case "[":
                List<Object> values = new ArrayList<>();
                for (Object value = read(tokens); value != END; value = read(tokens)) values.add(value);
                return values;
            case "}":
            case "]":
                return END;
            case "null":
                return null;
            default:
                return token.group();
        }
    }
}
