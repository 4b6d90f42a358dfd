public class Main {
    public static void main(String[] args) {
        List<String> x = new ArrayList<>();
    }
}
